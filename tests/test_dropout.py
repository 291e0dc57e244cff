"""Dropout: the mask follows from the seed and each element's number alone."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

ONES = np.ones((200, 500), np.float32)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_share_and_scale(rate):
    out = lodkit.dropout(ONES, rate=rate, seed=7)
    assert abs((out == 0).mean() - rate) < 0.01
    np.testing.assert_array_equal(out[out != 0], np.float32(1 / (1 - rate) if rate < 1 else 0))


def test_masks_of_neighbouring_seeds_and_elements_are_independent():
    masks = np.array([lodkit.dropout(ONES, rate=0.5, seed=seed).ravel() == 0 for seed in (-1, 0, 1, 2, 1 << 40)])
    assert np.abs(np.corrcoef(masks) - np.eye(len(masks))).max() < 0.02
    for distance in (1, 2, 64, 500):
        assert abs(np.corrcoef(masks[0, :-distance], masks[0, distance:])[0, 1]) < 0.02


def test_the_mask_is_the_same_for_every_type_shape_and_structure():
    mask = lodkit.dropout(ONES, rate=0.3, seed=5) == 0
    for dtype in (np.float16, np.float64):
        np.testing.assert_array_equal(lodkit.dropout(ONES.astype(dtype), rate=0.3, seed=5) == 0, mask)
    rows = LoDTensor(np.asfortranarray(ONES), [[150, 50]])
    np.testing.assert_array_equal(lodkit.dropout(rows, rate=0.3, seed=5).values == 0, mask)
    np.testing.assert_array_equal(lodkit.dropout(ONES.reshape(-1), rate=0.3, seed=5) == 0, mask.ravel())


def test_the_gradient_passes_where_the_value_did():
    x = lodkit.parameter(np.random.default_rng(0).normal(size=(50, 3)) + 5)
    with lodkit.Tape() as tape:
        out = lodkit.dropout(x, rate=0.4, seed=1)
    np.testing.assert_allclose(tape.gradient(out, [x])[0], np.where(out == 0, 0, 1 / 0.6), rtol=1e-15)


def test_what_is_dropped_is_zero():
    out = lodkit.dropout(np.full(100, np.nan), rate=0.5, seed=0)
    assert 30 < (out == 0).sum() < 70


def test_not_training_copies():
    x = np.arange(3.0)
    out = lodkit.dropout(x, rate=0.5, seed=0, training=False)
    assert out is not x and out.tolist() == x.tolist()


def test_wrong_inputs():
    with pytest.raises(ValueError, match=r"rate must be from 0 to 1, got 1.5"):
        lodkit.dropout(ONES, rate=1.5, seed=0)
    with pytest.raises(ValueError, match="got nan"):
        lodkit.dropout(ONES, rate=float("nan"), seed=0)
    with pytest.raises(TypeError, match="needs the attribute seed"):
        lodkit.dropout(ONES, rate=0.5)
    with pytest.raises(TypeError, match="seed must be an integer"):
        lodkit.dropout(ONES, rate=0.5, seed=0.5)
    with pytest.raises(lodkit.DTypeError, match="not int64"):
        lodkit.dropout(np.arange(3), rate=0.5, seed=0)
