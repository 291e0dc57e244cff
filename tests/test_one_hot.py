"""One-hot rows: Caffe2's names, and ids outside, for which Caffe2 writes anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit import caffe2 as c2


def test_structure_stays():
    ids = LoDTensor([2, 0, 1], [[2, 1]])
    assert lodkit.one_hot(ids, size=3).to_list() == [[[0, 0, 1], [1, 0, 0]], [[0, 1, 0]]]
    assert lodkit.one_hot([[1]], size=2).tolist() == [[[0, 1]]]
    nested = LoDTensor([2, 0, 1], [[1, 1], [2, 1]])
    assert lodkit.segment_one_hot(nested, size=3).to_list() == [[[1, 0, 1]], [[0, 1, 0]]]


def test_and_back():
    hot = lodkit.segment_one_hot(LoDTensor([2, 0, 2, 1], [[3, 0, 1]]), size=4)
    assert lodkit.dense_to_id_lists(hot).to_list() == [[0, 2], [], [1]]
    assert lodkit.dense_to_id_lists(np.array([[np.nan, -0.0, np.inf]], np.float16)).to_list() == [[0, 2]]


def test_ids_outside():
    out = np.full((2, 3), 7, np.float32)
    for bad in (3, -1, 1 << 40):
        ids = np.array([0, bad])
        for call in (
            lambda ids=ids: lodkit.one_hot(ids, size=3, out=out),
            lambda ids=ids: lodkit.segment_one_hot(LoDTensor(ids, [[1, 1]]), size=3, out=out),
            lambda ids=ids: c2.OneHot(ids, np.array([3])),
            lambda ids=ids: c2.SegmentOneHot(np.array([1, 1], np.int32), ids, np.array([3])),
        ):
            with pytest.raises(lodkit.RowIndexError, match=rf"ids\[1\] = {bad} is outside \[0, 3\) \(size = 3\)"):
                call()
    assert (out == 7).all()
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[1, 0\] = 5 is outside \[0, 3\)"):
        lodkit.one_hot([[0], [5]], size=3)


def test_what_is_refused():
    with pytest.raises(ValueError, match="size = -1 is negative"):
        lodkit.one_hot([0], size=-1)
    with pytest.raises(TypeError, match="needs the attribute size"):
        lodkit.one_hot([0])
    with pytest.raises(lodkit.DTypeError, match="ids must be integers"):
        lodkit.one_hot([0.5], size=2)
    with pytest.raises(lodkit.LoDLevelError, match="segment_one_hot needs ids with lod_level >= 1"):
        lodkit.segment_one_hot(LoDTensor([1]), size=2)
    with pytest.raises(lodkit.LoDError, match="sum to the rows"):
        c2.SegmentOneHot(np.array([1], np.int32), np.array([0, 1]), np.array([3]))
    with pytest.raises(lodkit.ShapeMismatchError, match=r"dense has shape \(3,\); pass \(sequences, columns\)"):
        lodkit.dense_to_id_lists(np.ones(3))
    with pytest.raises(lodkit.DTypeError, match="dense_to_id_lists takes"):
        lodkit.dense_to_id_lists(np.ones((2, 2), bool))
