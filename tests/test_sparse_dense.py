"""Rows at their indices and features by a mask: equal ids, and inputs that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit import caffe2 as c2

IDS = LoDTensor([7, 4, 7, -3, 9], [[3, 2]])
VALUES = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def test_rows_that_are_added():
    values = lodkit.parameter(np.array([[1.0], [2.0], [4.0]], np.float32))
    with lodkit.Tape() as tape:
        dense = lodkit.sparse_to_dense([2, 0, 2], values)
    assert dense.tolist() == [[2], [0], [5]]
    assert tape.gradient(dense, [values], np.array([[1], [2], [3]]))[0].tolist() == [[3], [1], [3]]
    million = lodkit.sparse_to_dense(np.zeros(1_000_000, np.int64), np.full(1_000_000, 0.1, np.float32))
    np.testing.assert_allclose(million, 1e5, rtol=1e-5)


def test_how_many_rows_there_are():
    args = np.array([0, 2]), np.array([1, 2])
    assert c2.SparseToDense(*args).tolist() == [1, 0, 2]
    assert c2.SparseToDense(*args, np.ones((4, 5))).tolist() == [1, 0, 2, 0]
    assert c2.SparseToDense(*args, output_first_dim=5).tolist() == [1, 0, 2, 0, 0]


def test_indices_stay_writable():
    indices = np.array([0, 2])
    lodkit.sparse_to_dense(indices, np.ones(2))
    assert indices.flags.writeable


def test_the_last_of_equal_ids_wins():
    values, default = lodkit.parameter(VALUES), lodkit.parameter(0.5)
    with lodkit.Tape() as tape:
        dense, presence = lodkit.sparse_to_dense_mask(IDS, values, default, mask=[4, 7, 5])
    assert dense.tolist() == [[2, 4, 0.5], [0.5, 0.5, 0.5]]
    assert presence.tolist() == [[True, True, False], [False] * 3]
    assert presence.dtype == bool
    by_values, by_default = tape.gradient(dense, [values, default], np.arange(6.0).reshape(2, 3))
    assert by_values.tolist() == [0, 0, 1, 0, 0]
    assert by_default == 14


def test_one_example():
    dense, presence = lodkit.sparse_to_dense_mask([7, 4], [[1, 2], [3, 4]], [0, 0], mask=[4, 5])
    assert dense.tolist() == [[3, 4], [0, 0]]
    assert presence.tolist() == [True, False]
    dense = c2.SparseToDenseMask(np.array([7, 4]), np.ones(2), np.array(0.0), mask=[4, 5])
    assert dense.tolist() == [1, 0]


def test_levels_above_stay():
    ids = LoDTensor([1, 2, 3], [[1, 1], [2, 1]])
    dense, presence = lodkit.sparse_to_dense_mask(ids, ids.with_values(np.array([1, 2, 3])), 0, mask=[3, 1])
    assert dense.to_list() == [[[0, 1]], [[3, 0]]]
    assert presence.to_list() == [[[False, True]], [[True, False]]]


def test_indices_outside():
    for call in (
        lambda indices: lodkit.sparse_to_dense(indices, np.ones(2), num_rows=3),
        lambda indices: c2.SparseToDense(indices, np.ones(2), output_first_dim=3),
        lambda indices: c2.SparseToDense(indices, np.ones(2), np.ones((3, 1))),
    ):
        for bad in (3, -1, 1 << 40):
            with pytest.raises(
                lodkit.RowIndexError, match=rf"indices\[1\] = {bad} is outside \[0, 3\) \(num_rows = 3\)"
            ):
                call(np.array([0, bad]))
    with pytest.raises(lodkit.RowIndexError, match=r"indices\[0\] = -1 is outside \[0, 2\)"):
        lodkit.sparse_to_dense([-1, 1], np.ones(2))


def test_ids_that_may_not_be_skipped():
    ids = np.array([1, -5, 2, -1], np.int64)
    lengths, args = np.array([2, 1, 1], np.int32), (np.ones(4), np.array(0.0))
    message = r"ids\[1\] = -5 is negative, and 2 examples have such ids \(max_skipped = 1\)"
    with pytest.raises(lodkit.RowIndexError, match=message):
        c2.SparseToDenseMask(ids, *args, lengths, mask=[1, 2], max_skipped_indices=1)
    assert c2.SparseToDenseMask(ids, *args, lengths, mask=[1, 2], max_skipped_indices=2).tolist()[1] == [0, 1]


def test_masks_that_are_none():
    for mask, error, message in [
        ([4, 7, 4], ValueError, r"mask\[2\] = 4 is mask\[0\] too"),
        ([4, -1], lodkit.RowIndexError, r"mask\[1\] = -1 is negative"),
        ([0.5], lodkit.DTypeError, "mask must be integers"),
        ([[1, 2]], lodkit.LoDError, "mask must be one-dimensional"),
    ]:
        with pytest.raises(error, match=message):
            lodkit.sparse_to_dense_mask(IDS, VALUES, 0.0, mask=mask)
    with pytest.raises(TypeError, match="needs the attribute mask"):
        lodkit.sparse_to_dense_mask(IDS, VALUES, 0.0)


def test_values_that_do_not_fit():
    with pytest.raises(lodkit.ShapeMismatchError, match="values has 4 rows for 5 ids"):
        lodkit.sparse_to_dense_mask(IDS, VALUES[:4], 0.0, mask=[1])
    with pytest.raises(lodkit.ShapeMismatchError, match=r"default has shape \(2,\), an item of values \(\)"):
        lodkit.sparse_to_dense_mask(IDS, VALUES, [0.0, 1.0], mask=[1])
    with pytest.raises(lodkit.DTypeError, match="default is float64, values int64"):
        lodkit.sparse_to_dense_mask(IDS, np.arange(5), 0.5, mask=[1])
    with pytest.raises(lodkit.LoDMismatchError, match="values has lod_level 1, the ids have none"):
        lodkit.sparse_to_dense_mask(IDS.values, IDS.with_values(VALUES), 0.0, mask=[1])
    with pytest.raises(lodkit.ShapeMismatchError, match="values has 3 rows for 2 ids"):
        lodkit.sparse_to_dense([0, 1], np.ones(3))
    with pytest.raises(lodkit.LoDError, match="indices must be one-dimensional"):
        lodkit.sparse_to_dense([[0, 1]], np.ones((1, 2)))
    with pytest.raises(lodkit.DTypeError, match="sparse_to_dense takes float16"):
        lodkit.sparse_to_dense([0], np.ones(1, bool))
    with pytest.raises(ValueError, match="num_rows = -1 is negative"):
        lodkit.sparse_to_dense([0], np.ones(1), num_rows=-1)
    with pytest.raises(lodkit.LoDError, match="sum to the rows"):
        c2.SparseToDenseMask(np.array([1, 2]), np.ones(2), np.array(0.0), np.array([1], np.int32), mask=[1])
