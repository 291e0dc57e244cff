"""Losses and rows: what is easy to get wrong in them."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

ROWS = LoDTensor(np.ones((3, 2)), [[2, 1]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_binary_cross_entropy_does_not_overflow(dtype):
    x = np.array([-1e4, -1e4, 1e4, 1e4], dtype)
    losses = lodkit.sigmoid_cross_entropy_with_logits(x, np.array([0, 1, 0, 1]))
    assert losses.tolist() == [0, 1e4, 1e4, 0]
    by_logits, _ = lodkit.sigmoid_cross_entropy_with_logits_grad(x, np.array([0, 1, 0, 1]), np.ones(4, dtype))
    assert by_logits.tolist() == [0, -1, 1, 0]


def test_labels_of_whole_numbers_have_no_gradient():
    x, labels = lodkit.parameter([0.5, -0.5]), np.array([1, 0])
    with lodkit.Tape() as tape:
        loss = lodkit.mean(lodkit.sigmoid_cross_entropy_with_logits(x, labels))
    assert tape.gradient(loss, [x])[0].tolist() == pytest.approx([-0.18877, 0.18877], abs=1e-5)


def test_structure_is_kept_or_has_to_agree():
    other = LoDTensor(ROWS.values, [[1, 2]])
    assert lodkit.sigmoid_cross_entropy_with_logits(ROWS, ROWS.values).lod() == ROWS.lod()
    assert lodkit.layer_norm(ROWS).lod() == lodkit.softmax(ROWS).lod() == ROWS.lod()
    for operator in (lodkit.sigmoid_cross_entropy_with_logits, lodkit.mean_squared_error):
        with pytest.raises(lodkit.LoDMismatchError):
            operator(ROWS, other)


def test_wrong_inputs():
    x = ROWS.values
    with pytest.raises(lodkit.ShapeMismatchError, match=r"labels have shape \(3,\), logits \(3, 2\)"):
        lodkit.sigmoid_cross_entropy_with_logits(x, np.ones(3))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"the target \(3, 1\)"):
        lodkit.mean_squared_error(x, x[:, :1])
    with pytest.raises(lodkit.DTypeError, match="the target is float32"):
        lodkit.mean_squared_error(x, x.astype(np.float32))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"the scale has shape \(3,\), it must be \(2,\)"):
        lodkit.layer_norm(x, np.ones(3))
    with pytest.raises(lodkit.DTypeError, match="the bias is float32"):
        lodkit.layer_norm(x, np.ones(2), np.ones(2, np.float32))
    for epsilon in (-1e-3, np.nan, np.inf):
        with pytest.raises(ValueError, match="layer_norm: epsilon must be finite and at least 0, got"):
            lodkit.layer_norm(x, epsilon=epsilon)
    with pytest.raises(lodkit.ShapeMismatchError, match="use sequence_softmax"):
        lodkit.softmax(LoDTensor(np.ones(3), [[2, 1]]))


def test_a_row_of_equal_elements_normalizes_to_its_bias():
    x = np.full((2, 1000), 1e4, np.float32)
    assert not np.any(lodkit.layer_norm(x))


def test_small_values_of_gelu_are_exact():
    """1 + erf(x / sqrt(2)) would have no digits left."""
    import math

    x = np.array([-8.0, -5.0])
    expected = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x]
    np.testing.assert_allclose(lodkit.gelu(x), expected, rtol=1e-13)
    np.testing.assert_allclose(lodkit.gelu(x.astype(np.float32)), expected, rtol=1e-5)
