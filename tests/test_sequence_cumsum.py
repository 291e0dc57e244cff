"""What is special about running sums: precision, long sequences, overflow, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.jit import settings


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("item", "dtype"), [((), np.float32), ((5,), np.float32), ((), np.int32)])
def test_long_sequences_go_in_pieces(exclusive, reverse, item, dtype, monkeypatch):
    monkeypatch.setattr(settings, "chunk_rows", 2)
    x = LoDTensor(np.random.default_rng(0).integers(-9, 9, (400, *item)).astype(dtype), [[5, 290, 0, 33, 72]])
    attrs = {"exclusive": exclusive, "reverse": reverse}
    found, expected = lodkit.sequence_cumsum(x, **attrs), lodkit.sequence_cumsum.definition(x, **attrs)
    np.testing.assert_array_equal(found.values, expected.values, strict=True)


def test_sums_are_kept_in_double_precision():
    n = 200_000
    x = LoDTensor(np.full(n, 0.1, np.float32), [[n]])
    expected = np.arange(1, n + 1) * float(np.float32(0.1))
    np.testing.assert_allclose(lodkit.sequence_cumsum(x).values, expected, rtol=1e-6)
    halves = LoDTensor(np.ones(3000, np.float16), [[3000]])
    assert lodkit.sequence_cumsum(halves).values[-1] == 3000


def test_int32_gives_int64():
    x = LoDTensor(np.full(3, 2**31 - 1, np.int32), [[3]])
    assert lodkit.sequence_cumsum(x).values[-1] == 3 * (2**31 - 1)


def test_what_comes_behind_an_infinity():
    x = LoDTensor(np.array([1, np.inf, 1, -np.inf, 1, 5], np.float32), [[5, 1]])
    np.testing.assert_array_equal(lodkit.sequence_cumsum(x).values, [1, np.inf, np.inf, np.nan, np.nan, 5])
    np.testing.assert_array_equal(lodkit.sequence_cumsum(x, exclusive=True).values, [0, 1, np.inf, np.inf, np.nan, 0])


def test_the_gradient_runs_the_other_way():
    x = LoDTensor(np.zeros(5, np.float32), [[3, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.sequence_cumsum(x, exclusive=True)
    grad_output = np.array([1.0, 10.0, 100.0, 1.0, 10.0], np.float32)
    gradient = tape.gradient(y, [x], output_gradients=grad_output)[0]
    assert gradient.values.tolist() == [110, 100, 0, 10, 0]


def test_what_is_refused():
    x = LoDTensor(np.ones(3), [[3]])
    with pytest.raises(TypeError, match="reverse must be True or False"):
        lodkit.sequence_cumsum(x, reverse=1)
    with pytest.raises(lodkit.LoDLevelError, match="level 2"):
        lodkit.sequence_cumsum(x, level=2)
    with pytest.raises(lodkit.DTypeError, match="sequence_cumsum takes"):
        lodkit.sequence_cumsum(x.with_values(np.ones(3, complex)))
