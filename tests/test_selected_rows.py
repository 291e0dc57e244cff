"""SelectedRows: what it holds, what it refuses, its arithmetic, and the operators behind it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDError, RowIndexError, SelectedRows

FLOATS = ["float16", "float32", "float64"]
NUMBERS = [*FLOATS, "int32", "int64"]


@pytest.fixture
def grad():
    return SelectedRows([73, 84, 73], np.array([[1, 2], [3, 4], [5, 6]], np.float32), 100)


def dense(s):
    """What SelectedRows mean, in two lines of NumPy."""
    result = np.zeros(s.shape, np.float64)
    np.add.at(result, s.rows, s.value.astype(np.float64))
    return result


def same(s, rows, value, height):
    assert isinstance(s, SelectedRows)
    assert s.rows.tolist() == rows
    np.testing.assert_array_equal(s.value, value)
    assert s.height == height
    assert s.rows.dtype == np.int64
    assert not s.rows.flags.writeable


def test_attributes(grad):
    same(grad, [73, 84, 73], [[1, 2], [3, 4], [5, 6]], 100)
    assert (grad.shape, grad.ndim, grad.dtype, grad.device) == ((100, 2), 2, np.float32, "cpu")
    assert len(grad) == 3
    assert grad.nbytes == 3 * 8 + 6 * 4
    assert not grad.is_merged
    assert grad.get_tensor() is grad.value
    assert repr(SelectedRows([73, 84], [[1.0, 2.0], [3.0, 4.0]], 100)) == (
        "SelectedRows(rows=[73, 84], value=[[1., 2.], [3., 4.]], height=100)"
    )


@pytest.mark.parametrize("item", [(), (3,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_any_item_shape(item, count):
    s = SelectedRows(np.arange(count)[::-1], np.ones((count, *item)), 6)
    assert s.shape == (6, *item)
    np.testing.assert_array_equal(s.to_dense(), dense(s))
    assert s.merge().rows.tolist() == list(range(count))


def test_rows_are_copied_and_values_are_shared():
    rows, value = np.array([1, 2]), np.ones((2, 2))
    s = SelectedRows(rows, value, 3)
    rows[0] = 99
    value[0] = 7
    assert s.rows.tolist() == [1, 2]
    assert s.value is value
    with pytest.raises(ValueError, match="read-only"):
        s.rows[0] = 99


@pytest.mark.parametrize("rows", [[4, 0], (4, 0), np.int32([4, 0]), np.array([4, 9, 0])[::2], np.uint8([4, 0])])
def test_rows_of_any_integer_type(rows):
    same(SelectedRows(rows, [1.0, 2.0], 5), [4, 0], [1, 2], 5)


@pytest.mark.parametrize(
    ("rows", "value", "height", "error", "message"),
    [
        ([73, 110], [1.0, 2.0], 100, RowIndexError, r"rows\[1\] = 110 is outside \[0, 100\) \(height=100\); "),
        ([0, -1], [1.0, 2.0], 100, RowIndexError, r"rows\[1\] = -1 is outside"),
        ([0], [1.0], 0, RowIndexError, r"\[0, 0\)"),
        ([], [], -3, RowIndexError, "height = -3"),
        ([1, 2], [[1.0]], 5, LoDError, r"2 rows, but value has shape \(1, 1\)"),
        ([1], 1.0, 5, LoDError, r"shape \(\)"),
        ([[1]], [1.0], 5, LoDError, r"one-dimensional, got shape \(1, 1\)"),
        ([1.0], [1.0], 5, TypeError, "float64"),
        ([True], [1.0], 5, TypeError, "bool"),
        ([1], [1.0], 5.0, TypeError, "integer"),
    ],
)
def test_what_is_refused(rows, value, height, error, message):
    with pytest.raises(error, match=message):
        SelectedRows(rows, value, height)


def test_arrays_of_other_libraries_are_refused():
    class Tensor:
        shape, dtype, ndim = (1, 2), "float32", 2

    with pytest.raises(TypeError, match="got Tensor; pass a NumPy array"):
        SelectedRows([1], Tensor(), 3)


def test_a_value_of_its_own(grad):
    """No dense copy behind the user's back, no comparison, usable as a key."""
    for convert in (np.asarray, np.array, np.linalg.norm):
        with pytest.raises(TypeError, match=r"takes 800 bytes: call \.to_dense\(\)"):
            convert(grad)
    with pytest.raises(TypeError, match="__array_ufunc__"):
        np.exp(grad)
    huge = SelectedRows([0], np.zeros((1, 64), np.float32), 1 << 40)
    with pytest.raises(TypeError, match="281,474,976,710,656 bytes"):
        np.asarray(huge)
    twin = copy.copy(grad)
    assert grad == grad
    assert grad != twin
    assert len({grad, twin}) == 2


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_pickle_and_copy(grad, duplicate):
    for s in (grad, grad.merge()):
        twin = duplicate(s)
        same(twin, s.rows.tolist(), s.value, 100)
        assert twin.is_merged == s.is_merged
    assert copy.copy(grad).value is grad.value
    assert copy.deepcopy(grad).value is not grad.value


@pytest.mark.parametrize("dtype", NUMBERS)
def test_merge(dtype):
    s = SelectedRows([5, 1, 5, 5], np.array([[1, 2], [3, 4], [5, 6], [7, 8]], dtype), 9)
    merged = s.merge()
    same(merged, [1, 5], [[3, 4], [13, 16]], 9)
    assert merged.dtype == s.dtype
    assert merged.is_merged
    assert merged.merge() is merged
    assert not s.is_merged
    same(s, [5, 1, 5, 5], [[1, 2], [3, 4], [5, 6], [7, 8]], 9)


def test_selected_rows_plus_selected_rows_appends(grad):
    other = SelectedRows([2, 84], np.array([[7, 8], [9, 10]], np.float32), 100)
    same(grad + other, [73, 84, 73, 2, 84], [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], 100)
    assert not (grad.merge() + other.merge()).is_merged
    np.testing.assert_array_equal((grad + other).to_dense(), dense(grad) + dense(other))


def test_selected_rows_plus_dense(grad):
    x = np.arange(200, dtype=np.float32).reshape(100, 2)
    before = x.copy()
    for total in (grad + x, x + grad):
        assert isinstance(total, np.ndarray)
        assert total.dtype == np.float32
        np.testing.assert_array_equal(total, dense(grad) + x)
    np.testing.assert_array_equal(x, before)


def test_sums_that_do_not_fit(grad):
    for other in (
        SelectedRows([0], np.zeros((1, 2), np.float32), 99),
        SelectedRows([0], np.zeros((1, 3), np.float32), 100),
        np.zeros((99, 2), np.float32),
    ):
        with pytest.raises(ValueError, match="shape"):
            grad + other
    with pytest.raises(lodkit.DTypeError, match="float64"):
        grad + np.zeros((100, 2))
    for other in ("x", None, [1], 1):
        with pytest.raises(TypeError, match="unsupported operand"):
            grad + other


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.float32(2), np.array([2.0]), np.array(2)])
def test_scaling(dtype, two):
    s = SelectedRows([4, 1], np.array([[1, 2], [3, 5]], dtype), 9)
    for scaled in (s * two, two * s):
        same(scaled, [4, 1], [[2, 4], [6, 10]], 9)
        assert scaled.dtype == s.dtype
    same(s / two, [4, 1], [[0.5, 1], [1.5, 2.5]], 9)
    assert (s / two).dtype == s.dtype
    same(-s, [4, 1], [[-1, -2], [-3, -5]], 9)
    np.testing.assert_array_equal((s / 3).value, s.value / 3)
    same(s, [4, 1], [[1, 2], [3, 5]], 9)


def test_scaling_integers():
    s = SelectedRows([4, 1], np.array([3, 5], np.int32), 9)
    same(s * 2, [4, 1], [6, 10], 9)
    assert (s * 2).dtype == np.int32
    same(s / 2, [4, 1], [1.5, 2.5], 9)


def test_scaling_keeps_rows_and_merge(grad):
    merged = grad.merge()
    for scaled in (merged * 2, merged / 2, -merged):
        assert scaled.is_merged
        assert scaled._rows is merged._rows
    for wrong in ("2", None, np.ones(2), 2j, [2]):
        with pytest.raises(TypeError):
            grad * wrong
        with pytest.raises(TypeError):
            grad / wrong


def test_norm_is_that_of_the_sum():
    s = SelectedRows([1, 1, 4], np.array([[1, 2], [2, 2], [0, 0]], np.float32), 9)
    assert s.norm() == 5.0
    assert type(s.norm()) is float
    assert SelectedRows([], np.zeros((0, 2)), 9).norm() == 0.0
    wide = SelectedRows([0, 1], np.full((2, 1), 3e38, np.float32), 2)
    assert np.isclose(wide.norm(), 3e38 * np.sqrt(2))


def test_clip_by_norm():
    s = SelectedRows([1, 1], np.array([[1, 2], [2, 2]], np.float32), 9)
    same(s.clip_by_norm(2.5), [1], [[1.5, 2]], 9)
    assert s.clip_by_norm(2.5).dtype == np.float32
    same(s.clip_by_norm(7), [1], [[3, 4]], 9)
    same(s.clip_by_norm(0), [1], [[0, 0]], 9)
    merged = s.merge()
    assert merged.clip_by_norm(5) is merged
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="max_norm"):
            s.clip_by_norm(wrong)


def test_split(grad):
    low, none, high = grad.split([80, 0, 20])
    same(low, [73, 73], [[1, 2], [5, 6]], 80)
    same(none, [], np.zeros((0, 2)), 0)
    same(high, [4], [[3, 4]], 20)
    assert all(part.is_merged for part in grad.merge().split(np.array([80, 20])))
    for sections, message in (([80, 21], "add up to 101, not to the height 100"), ([110, -10], "-10")):
        with pytest.raises(LoDError, match=message):
            grad.split(sections)


@st.composite
def selected_rows(draw, height=None):
    height = height or draw(st.integers(1, 20))
    rows = draw(st.lists(st.integers(0, height - 1), max_size=30))
    numbers = st.lists(st.integers(-8, 8), min_size=2 * len(rows), max_size=2 * len(rows))
    return SelectedRows(rows, np.array(draw(numbers), np.float64).reshape(len(rows), 2), height)


@settings(deadline=None)
@given(s=selected_rows(), data=st.data())
def test_everything_agrees_with_the_dense_array(s, data):
    other = data.draw(selected_rows(s.height))
    expected = dense(s)
    np.testing.assert_array_equal(s.to_dense(), expected)
    np.testing.assert_array_equal(dense(s.merge()), expected)
    assert (np.diff(s.merge().rows) > 0).all()
    np.testing.assert_array_equal(dense(s + other), expected + dense(other))
    np.testing.assert_array_equal(s + dense(other), expected + dense(other))
    np.testing.assert_array_equal(dense(-s / 2), -expected / 2)
    np.testing.assert_allclose(s.norm(), np.linalg.norm(expected))
    cut = data.draw(st.integers(0, s.height))
    np.testing.assert_array_equal(np.concatenate([dense(p) for p in s.split([cut, s.height - cut])]), expected)


def test_the_operators(grad):
    same(lodkit.merge_selected_rows(grad), [73, 84], [[6, 8], [3, 4]], 100)
    np.testing.assert_array_equal(lodkit.selected_rows_to_dense(grad), dense(grad))
    assert lodkit.get_tensor_from_selected_rows(grad) is grad.value
    same(lodkit.sum(grad, grad), [73, 84, 73] * 2, [[1, 2], [3, 4], [5, 6]] * 2, 100)
    x = np.ones((100, 2), np.float32)
    np.testing.assert_array_equal(lodkit.sum(grad, x, grad, x), 2 * dense(grad) + 2)


def test_a_lookups_gradient_does_not_follow_the_ids():
    """Kernels trust rows, so a batch buffer that is used again must not reach them."""
    ids, table = np.array([1, 2]), np.ones((4, 2), np.float32)
    gradient = lodkit.lookup_table_grad(table, ids, np.ones((2, 2), np.float32))
    ids[:] = 1 << 40
    assert gradient.rows.tolist() == [1, 2]
    assert not gradient.rows.flags.writeable


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_sums_of_small_integers_are_refused_with_a_type_that_holds_them(dtype):
    """What adds rows up takes floats, int32 and int64; rows of other integers only move."""
    rows = SelectedRows([1, 1, 2], np.array([[1, 0], [1, 1], [0, 1]], dtype), 4)
    for call in (SelectedRows.merge, SelectedRows.to_dense, lambda x: lodkit.sum(x, x), SelectedRows.norm):
        with pytest.raises(lodkit.DTypeError, match=rf"int32 or int64, not {dtype}; convert with .astype\(np.int64\)"):
            call(rows)
    wide = SelectedRows(rows.rows, rows.value.astype(np.int64), 4)
    assert wide.merge().value.tolist() == [[2, 1], [0, 1]]
    assert rows.split([2, 2])[0].dtype == np.dtype(dtype)
