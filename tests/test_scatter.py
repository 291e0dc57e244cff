"""Scatter: the last of several wins, in every type, and what raises has written nothing."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit.caffe2 import Scatter, ScatterAssign, ScatterUpdate, ScatterWeightedSum

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
        ([0.0, 1.0], np.ones((2, 2)), lodkit.DTypeError, "must be integers"),
        ([0, 1], np.ones((2, 3)), lodkit.ShapeMismatchError, r"\(2, 3\).*\(2, 2\)"),
        ([0, 1], np.ones((3, 2)), lodkit.ShapeMismatchError, r"\(3, 2\)"),
        ([[0, 1]], np.ones((2, 2)), lodkit.ShapeMismatchError, r"\(1, 2, 2\)"),
        ([0, 1], np.ones((2, 2), np.float32), lodkit.DTypeError, "is float32, data float64"),
        ([0, 1], np.ones((2, 2), np.int64), lodkit.DTypeError, "is int64, data float64"),
    ],
)
def test_what_raises_changes_nothing(ids, rows, error, text, place):
    ids, rows, two, one = map(place.to, (np.array(ids), rows, 2 * ONE, ONE))
    for run in (
        lambda data: lodkit.scatter_assign(data, ids, rows),
        lambda data: lodkit.scatter_weighted_sum(data, two, ids, rows, one),
    ):
        data = place.to(np.arange(8.0).reshape(4, 2))
        with pytest.raises(error, match=text):
            run(data)
        np.testing.assert_array_equal(place.home(data), np.arange(8.0).reshape(4, 2))


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
        with pytest.raises(lodkit.LodkitError, match=r"overlaps input [12]"):
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
    data = lodkit.parameter(np.ones((3, 1)))
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
        ([[0]], np.ones((1, 1), np.float32), {}, lodkit.DTypeError, "updates is float32"),
        ([[0]], np.ones((1, 1)), {"axis": 2}, lodkit.ShapeMismatchError, "axis = 2"),
        ([[0.0]], np.ones((1, 1)), {}, lodkit.DTypeError, "must be integers"),
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
