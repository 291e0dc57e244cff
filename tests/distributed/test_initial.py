"""First values: their bits by id and seed, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit.distributed import initial, normal, uniform
from lodkit.ops.dropout import GOLDEN, WORD, mix_state


def test_bits_are_those_of_splitmix64():
    bits = initial._bits(np.array([0, 5, 2**40]), 3, -7)
    start = mix_state((-7 + GOLDEN) & WORD)
    expected = [[mix_state((start + (row * 3 + j) * GOLDEN) & WORD) for j in range(3)] for row in (0, 5, 2**40)]
    assert bits.dtype == np.uint64
    assert bits.tolist() == expected


@pytest.mark.parametrize(("low", "high"), [(1, 2), (-1, 1), (0, 1), (3, 3), (0.1, 0.3), (1e6, 1e6 + 1), (-2, -1)])
def test_uniform_never_reaches_its_upper_bound(monkeypatch, low, high):
    for bits in (0, 2**64 - 1):
        monkeypatch.setattr(
            initial, "_bits", lambda ids, width, _, bits=bits: np.full((len(ids), width), np.uint64(bits))
        )
        found = uniform(low, high)(np.arange(2), 3)
        assert (found >= np.float32(low)).all()
        assert (found < np.float32(high)).all() or low == high


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="low must not be above high, got 2 and 1"):
        uniform(2, 1)


def test_normal_is_finite_at_both_ends_of_its_bits(monkeypatch):
    for bits in (0, 2**64 - 1):
        monkeypatch.setattr(
            initial, "_bits", lambda ids, width, _, bits=bits: np.full((len(ids), width), np.uint64(bits))
        )
        assert np.isfinite(normal(1, 2)(np.arange(2), 3)).all()
