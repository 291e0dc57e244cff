"""Scatter: in place or not at all, the last of several wins, sums are exact, and nothing is written when it raises."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import SelectedRows
from lodkit.caffe2 import Scatter, ScatterAssign, ScatterUpdate, ScatterWeightedSum, WeightedSum

ONE = np.ones(1)


def assign(data, ids, rows):
    return lodkit.scatter_assign(data, ids, rows)


def add(data, ids, rows):
    whole = np.ones(1, np.int64 if np.dtype(rows.dtype).kind == "i" else rows.dtype)
    return lodkit.scatter_weighted_sum(data, 2 * whole, ids, rows, whole)


@pytest.mark.parametrize(
    ("ids", "rows", "error", "text"),
    [
        ([0, -1], np.ones((2, 2)), lodkit.RowIndexError, r"ids\[1\] = -1 is outside \[0, 4\)"),
        ([0, 4], np.ones((2, 2)), lodkit.RowIndexError, r"ids\[1\] = 4 is outside"),
        ([0, 1 << 40], np.ones((2, 2)), lodkit.RowIndexError, r"is outside"),
        ([0.0, 1.0], np.ones((2, 2)), lodkit.DTypeError, "int32 or int64"),
        ([0, 1], np.ones((2, 3)), lodkit.ShapeMismatchError, r"\(2, 3\).*\(2, 2\)"),
        ([0, 1], np.ones((3, 2)), lodkit.ShapeMismatchError, r"\(3, 2\)"),
        ([[0, 1]], np.ones((2, 2)), lodkit.ShapeMismatchError, r"\(1, 2, 2\)"),
        ([0, 1], np.ones((2, 2), np.float32), lodkit.DTypeError, "is float32, data is float64"),
        ([0, 1], np.ones((2, 2), np.int64), lodkit.DTypeError, "is int64, data is float64"),
    ],
)
def test_what_raises_changes_nothing(ids, rows, error, text, place):
    for name in ("scatter_assign", "scatter_weighted_sum"):
        kept = np.arange(8.0).reshape(4, 2)
        data, inputs = place.to(kept), [place.to(np.array(ids)), place.to(rows)]
        with pytest.raises(error, match=text):
            if name == "scatter_assign":
                lodkit.scatter_assign(data, *inputs)
            else:
                lodkit.scatter_weighted_sum(data, place.to(2 * ONE), *inputs, place.to(ONE))
        np.testing.assert_array_equal(place.home(data), np.arange(8.0).reshape(4, 2))


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


def test_memory_that_cannot_be_written():
    table = np.ones((4, 2))
    frozen = table.copy()
    frozen.flags.writeable = False
    ids = np.array([1])
    for data in (frozen, table[:, :1], np.asfortranarray(table), table[::2]):
        rows = np.ones((1, *data.shape[1:]))
        for run in (assign, add):
            with pytest.raises(lodkit.LodkitError, match=r"read-only|contiguous"):
                run(data, ids, rows)
    for run in (assign, add):
        with pytest.raises(lodkit.LodkitError, match="overlaps input 1|overlaps input 2"):
            run(table, ids, table[:1])
    numbers = np.arange(3)
    with pytest.raises(lodkit.LodkitError, match="overlaps input 0"):
        lodkit.scatter_assign(numbers, numbers, np.ones(3, np.int64))
    assert (table == 1).all() and numbers.tolist() == [0, 1, 2]


def test_a_gpu_refuses_to_scatter_what_it_reads(place):
    table, ids = place.to(np.ones((4, 2))), place.to(np.array([0, 1, 2, 3]))
    with pytest.raises(lodkit.LodkitError, match="overlaps"):
        lodkit.scatter_assign(table, ids, table)
    with pytest.raises(lodkit.LodkitError, match="overlaps"):
        lodkit.scatter_weighted_sum(table, place.to(ONE), ids, table, place.to(ONE))


@pytest.mark.parametrize("place", ["cuda"], indirect=True)
def test_ids_that_are_not_looked_at_write_nothing(place):
    before = lodkit.bounds_check("clamp")
    try:
        ids, rows, one = place.to(np.array([1, 6, -1, 1 << 40])), place.to(np.full((4, 1), 7.0)), place.to(ONE)
        for run in (
            lambda data: lodkit.scatter_assign(data, ids, rows),
            lambda data: lodkit.scatter_weighted_sum(data, one, ids, rows, one),
            lambda data: lodkit.scatter(data, ids.reshape(4, 1), rows, axis=0),
            lambda data: lodkit.batch_gather_grad(data, ids, rows, axis=0),
        ):
            result = run(place.to(np.zeros((5, 1))))
            assert place.home(result).ravel().tolist() == [0, 7, 0, 0, 0]
        table = place.to(np.arange(3.0).reshape(1, 3))
        assert place.home(lodkit.batch_gather(table, place.to(np.array([2, 3, -1])))).tolist() == [[2, 0, 0]]
    finally:
        lodkit.bounds_check(before)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_every_type_is_written_as_it_is(dtype, place):
    """Caffe2 gives garbage for others than float32."""
    whole = np.ones(1, dtype)
    for name, expected in (("ScatterAssign", [0, 3, 2, 5]), ("ScatterUpdate", [0, 3, 2, 5])):
        data = place.to(np.arange(4).astype(dtype))
        run = {"ScatterAssign": ScatterAssign, "ScatterUpdate": ScatterUpdate}[name]
        out = run(data, place.to(np.array([1, 3, 1])), place.to(np.array([4, 5, 3], dtype)))
        assert out is data
        np.testing.assert_array_equal(place.home(data), np.array(expected, dtype))
    data = place.to(np.arange(4).astype(dtype))
    ids, x = place.to(np.array([1, 3, 1])), place.to(np.array([4, 5, 3], dtype))
    ScatterWeightedSum(data, place.to(2 * whole), ids, x, place.to(-whole))
    np.testing.assert_array_equal(place.home(data), np.array([0, -3, 2, 1], dtype))


def test_weights_of_integers_are_integers(place):
    data, ids, x = (place.to(np.array(n)) for n in ([1, 2], [0], [5]))
    with pytest.raises(lodkit.DTypeError, match="weight 1 is float64, the values int64"):
        lodkit.scatter_weighted_sum(data, place.to(np.array([1])), ids, x, place.to(ONE))
    with pytest.raises(lodkit.DTypeError, match="weight 0 is float64"):
        lodkit.weighted_sum(x, place.to(ONE))
    assert place.home(data).tolist() == [1, 2]


def test_a_million_for_one_row(monkeypatch):
    """Summed in blocks: one after another, float32 is 1 % off."""
    data, ids = np.zeros((2, 1), np.float32), np.ones(1_000_000, np.int64)
    lodkit.scatter_weighted_sum(data, 1.0, ids, np.full((len(ids), 1), 0.1, np.float32), 1.0)
    assert data[1, 0] == pytest.approx(1e6 * np.float32(0.1), rel=1e-6)
    half = np.zeros(1, np.float16)
    lodkit.scatter_weighted_sum(half, 1.0, np.zeros(4096, np.int64), np.ones(4096, np.float16), 1.0)
    assert half[0] == 4096


def test_the_last_wins_for_any_number_of_threads(monkeypatch):
    from lodkit.jit import settings

    monkeypatch.setattr(settings, "parallel_from", 0)
    rng = np.random.default_rng(0)
    ids, rows = rng.integers(0, 50, 5000), rng.normal(size=(5000, 3))
    expected = np.zeros((50, 3))
    for row, value in zip(ids, rows, strict=True):
        expected[row] = value
    for threads in (1, 2):
        lodkit.set_num_threads(threads)
        np.testing.assert_array_equal(lodkit.scatter_assign(np.zeros((50, 3)), ids, rows), expected)


def test_a_tape_knows_that_the_data_changed():
    data = np.ones((3, 1))
    with lodkit.Tape() as tape:
        before = lodkit.relu(data)
        lodkit.scatter_assign(data, [1], np.zeros((1, 1)))
        after = lodkit.relu(data)
    assert tape.gradient(after, [data])[0].ravel().tolist() == [1, 0, 1]
    assert tape.gradient(before, [data])[0].ravel().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("ids", "updates", "attrs", "error", "text"),
    [
        ([[0], [3]], np.ones((2, 1)), {}, lodkit.RowIndexError, r"ids\[1, 0\] = 3 is outside \[0, 3\)"),
        ([[0], [-1]], np.ones((2, 1)), {}, lodkit.RowIndexError, r"ids\[1, 0\] = -1"),
        ([[0], [1 << 40]], np.ones((2, 1)), {}, lodkit.RowIndexError, r"ids\[1, 0\]"),
        ([[0], [0], [0]], np.ones((3, 1)), {}, lodkit.ShapeMismatchError, r"do not fit data of shape \(2, 3\)"),
        ([0, 1], np.ones(2), {}, lodkit.ShapeMismatchError, "do not fit"),
        ([[0]], np.ones((1, 2)), {}, lodkit.ShapeMismatchError, r"updates have shape \(1, 2\), ids \(1, 1\)"),
        ([[0]], np.ones((1, 1), np.float32), {}, lodkit.DTypeError, "updates are float32"),
        ([[0]], np.ones((1, 1)), {"axis": 2}, lodkit.ShapeMismatchError, "axis = 2"),
        ([[0.0]], np.ones((1, 1)), {}, lodkit.DTypeError, "int32 or int64"),
    ],
)
def test_what_scatter_refuses(ids, updates, attrs, error, text, place):
    data = np.arange(6.0).reshape(2, 3)
    with pytest.raises(error, match=text):
        lodkit.scatter(place.to(data), place.to(np.array(ids)), place.to(updates), **attrs)


def test_scatter_leaves_its_data_alone():
    data = np.zeros((2, 3))
    assert Scatter(data, np.array([[1], [1]]), np.ones((2, 1))).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert not data.any()


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
    x, w, y, v = map(place.to, (np.array([1.0, 2.0]), np.array([0.5]), np.array([3.0, 5.0]), np.array([2.0])))
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
