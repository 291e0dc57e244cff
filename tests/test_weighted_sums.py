"""Weighted sums: what they refuse, how exact they are, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import SelectedRows
from lodkit.caffe2 import ScatterWeightedSum, WeightedSum

ONE = np.ones(1)


def test_a_later_pair_that_is_wrong_changes_nothing(place):
    data, ids, x = place.to(np.ones(3)), place.to(np.array([1, 1])), place.to(np.ones(2))
    one = place.to(ONE)
    for rest, error, text in (
        ((x, one, place.to(np.ones(3)), one), lodkit.ShapeMismatchError, "x2 has shape"),
        ((x, one, x, place.to(np.ones(2))), lodkit.ShapeMismatchError, r"weight 2 has shape \(2,\)"),
        ((x, one, x), TypeError, "each followed by its weight"),
        ((), TypeError, "each followed by its weight"),
    ):
        with pytest.raises(error, match=text):
            lodkit.scatter_weighted_sum(data, place.to(2 * ONE), ids, *rest)
    assert place.home(data).tolist() == [1, 1, 1]


def test_weights_of_integers_are_integers(place):
    data, ids, x = (place.to(np.array(n)) for n in ([1, 2], [0], [5]))
    with pytest.raises(lodkit.DTypeError, match="weight 1 is float64, the values int64"):
        lodkit.scatter_weighted_sum(data, place.to(np.array([1])), ids, x, place.to(ONE))
    with pytest.raises(lodkit.DTypeError, match="weight 0 is float64"):
        lodkit.weighted_sum(x, place.to(ONE))
    assert place.home(data).tolist() == [1, 2]


def test_a_million_for_one_row():
    """Summed in blocks: one after another, float32 is 1 % off."""
    data, ids = np.zeros((2, 1), np.float32), np.ones(1_000_000, np.int64)
    lodkit.scatter_weighted_sum(data, 1.0, ids, np.full((len(ids), 1), 0.1, np.float32), 1.0)
    assert data[1, 0] == pytest.approx(1e6 * np.float32(0.1), rel=1e-6)
    half = np.zeros(1, np.float16)
    lodkit.scatter_weighted_sum(half, 1.0, np.zeros(4096, np.int64), np.ones(4096, np.float16), 1.0)
    assert half[0] == 4096


def test_weighted_sums_are_of_arrays_alike(place):
    x, one = place.to(np.ones((2, 2))), place.to(ONE)
    for inputs, error, text in (
        ((x, one, place.to(np.ones((2, 1))), one), lodkit.ShapeMismatchError, r"array 1 has shape \(2, 1\)"),
        ((x, one, place.to(np.ones((2, 2), np.float32)), one), lodkit.DTypeError, "array 1 is float32"),
        ((x, one, x), TypeError, "each followed by its weight"),
        ((x, x), lodkit.ShapeMismatchError, r"weight 0 has shape \(2, 2\)"),
    ):
        with pytest.raises(error, match=text):
            lodkit.weighted_sum(*inputs)


def test_caffe2_weighted_sum_has_gradients_to_its_weights(place):
    inputs = np.array([1.0, 2.0]), np.array([0.5]), np.array([3.0, 5.0]), np.array([2.0])
    x, w, y, v = (lodkit.parameter(place.to(array)) for array in inputs)
    with lodkit.Tape() as tape:
        out = WeightedSum(x, w, y, v, grad_on_w=1)
    got = tape.gradient(out, [x, w, y, v], place.to(np.array([1.0, 10.0])))
    assert [place.home(g).tolist() for g in got] == [[0.5, 5.0], [21.0], [2.0, 20.0], [53.0]]


def test_one_scatter_is_caffe2s_sparse_sgd():
    grad = SelectedRows([2, 0, 2], np.array([[1.0], [2.0], [3.0]]), 4)
    ours, theirs = np.ones((4, 1)), np.ones((4, 1))
    lodkit.sgd(ours, grad, lr=0.5)
    ScatterWeightedSum(theirs, ONE, grad.rows, grad.value, np.array([-0.5]))
    np.testing.assert_array_equal(ours, theirs)
