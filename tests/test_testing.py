"""Assertions name the first difference."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lodkit import Features, LoDTensor, SelectedRows
from lodkit.testing import assert_allclose, assert_equal

T = LoDTensor(np.arange(12.0).reshape(6, 2), [[2, 0, 1], [3, 1, 2]])
S = SelectedRows([7, 1], [[1.0, 2.0], [3.0, 4.0]], 10)
F = Features([2, 0, 1], [1, 3, 1], [2, 1, 1], [10, 11, 101, 11])


def changed(at, value, dtype=None):
    values = T.values.copy() if dtype is None else T.values.astype(dtype)
    values[at] = value
    return T.with_values(values)


EQUAL = [
    (T, changed((0, 0), 0.0)),
    (S, SelectedRows(S.rows, S.value, 10)),
    (F, Features([2, 0, 1], [1, 3, 1], [2, 1, 1], [10, 11, 101, 11])),
    (np.array([1, 2]), [1, 2]),
    (np.array([np.nan]), np.array([np.nan])),
    (LoDTensor(None, [[1, 2]]), LoDTensor(None, [[1, 2]])),
    (LoDTensor(np.empty((0, 3)), [[], [], []]), LoDTensor(np.empty((0, 3)), [[], [], []])),
    (LoDTensor([1]), LoDTensor([1])),
    ([T, (S, None)], (T, [S, None])),
    ({"a": T, "b": 2}, {"b": 2, "a": T}),
]


@pytest.mark.parametrize(("actual", "desired"), EQUAL)
def test_equal(actual, desired):
    assert_equal(actual, desired)
    assert_allclose(actual, desired)


DIFFERENT = [
    (T, T.values, "LoDTensor where ndarray is desired"),
    (T, S, "LoDTensor where SelectedRows is desired"),
    (T, None, "LoDTensor where None is desired"),
    (np.zeros(1), None, "ndarray where None is desired"),
    (T, T.drop_level(0), "lod_level 2 against 1"),
    (LoDTensor([1]), LoDTensor([1, 2]), "1 rows against 2"),
    (T, LoDTensor(T.values, [[3, 0, 0], [3, 1, 2]]), "level 0; first difference at sequence 0: 2 vs 3"),
    (T, LoDTensor(T.values, [[2, 0, 1], [3, 2, 1]]), "level 1; first difference at sequence 1: 1 vs 2"),
    (T, LoDTensor(T.values, [[2, 0, 1, 0], [3, 1, 2]]), "3 sequences against 4 at level 0"),
    (LoDTensor(None, [[1]]), LoDTensor([1], [[1]]), "only one of the two has values"),
    (T, T.with_values(T.values.astype("f4")), "dtype float64 against float32"),
    (T, T.with_values(T.values[:, :1]), "shape (6, 2) against (6, 1)"),
    (T, changed((3, 1), 9.0), "first at [0, 1, 0, 1] (row 3): 7.0 vs 9.0; 1 of 12 elements differ, by at most 2"),
    (T, changed((4, 0), np.nan), "first at [2, 0, 0, 0] (row 4): 8.0 vs nan; 1 of 12 elements differ"),
    (S, SelectedRows([7, 1], S.value, 11), "height 10 against 11"),
    (S, SelectedRows([7, 2], S.value, 10), ".rows: values differ first at [1]: 1 vs 2"),
    (S, SelectedRows([7], S.value[:1], 10), ".rows: shape (2,) against (1,)"),
    (S, SelectedRows([7, 1], S.value + [[0, 0], [0, 1]], 10), ".value: values differ first at [1, 1]: 4.0 vs 5.0"),
    (F, Features([2, 0, 1], [1, 3, 2], [2, 1, 1], [10, 11, 101, 11]), ".keys: values differ first at [2, 0] (row 2)"),
    (F, Features([2, 0, 1], [1, 3, 1], None, [10, 11, 101]), "list features against scalar"),
    ({"a": 1}, {"a": 1, "b": 2}, "key 'b' is only in desired"),
    ({"a": [T, 1]}, {"a": [T, 2]}, "actual['a'][1]: values differ first: 1 vs 2; 1 element differs, by at most 1"),
    ([1], [1, 2], "1 items against 2"),
    (np.array([True]), np.array([False]), "True vs False"),
    (np.array(["a"]), np.array(["b"]), "a vs b; 1 element differs"),
]


@pytest.mark.parametrize(("actual", "desired", "message"), DIFFERENT)
def test_the_first_difference_is_named(actual, desired, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        assert_equal(actual, desired)
    if "dtype" not in message:
        with pytest.raises(AssertionError, match=re.escape(message)):
            assert_allclose(actual, desired)


def test_tolerances():
    near = T.with_values(T.values * (1 + 1e-6))
    assert_allclose(near, T, rtol=1e-5)
    with pytest.raises(AssertionError, match=r"mine\nactual: values differ first at \[0, 0, 0, 1\] \(row 0\)"):
        assert_allclose(near, T, err_msg="mine")
    assert_allclose(T.with_values(T.values + 0.5), T, atol=0.5)
    nan = np.array([np.nan])
    with pytest.raises(AssertionError, match="nan vs nan"):
        assert_allclose(nan, nan, equal_nan=False)


def test_types_are_part_of_equality_and_not_of_closeness():
    half = T.with_values(T.values.astype("f4"))
    assert_equal(half, T, strict=False)
    assert_allclose(half, T)
    with pytest.raises(AssertionError, match="dtype float32 against float64"):
        assert_allclose(half, T, strict=True)
