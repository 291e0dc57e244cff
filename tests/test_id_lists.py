"""Lists of ids: laws of the published names, wrong inputs, and sorts of every width."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

ENDS = np.iinfo(np.int64)
RANGES = {
    "near": (0, 50),
    "far from 0": (1 << 40, (1 << 40) + 50),
    "negative": (-50, 50),
    "wide": (-(1 << 61), 1 << 61),
    "whole": (ENDS.min, ENDS.max),
}


@pytest.fixture(params=[False, True], ids=["few", "radix"])
def radix(request):
    """Sorts by NumPy, as few ids are, and by digits."""
    if request.param:
        request.getfixturevalue("tiny_blocks")


@pytest.mark.parametrize("name", RANGES)
def test_unique_of_every_range(name, radix):
    rng = np.random.default_rng(0)
    low, high = RANGES[name]
    ids = rng.choice(rng.integers(low, high, 150, endpoint=True), 400)
    found = lodkit.unique(ids, return_inverse=True, return_counts=True)
    for got, expected in zip(found, np.unique(ids, return_inverse=True, return_counts=True), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == np.int64
    first = np.unique(ids, return_index=True)[1]
    np.testing.assert_array_equal(lodkit.find_duplicate_elements(ids), np.setdiff1d(np.arange(400), first))
    np.testing.assert_array_equal(ids[lodkit.find(ids, ids)], ids)


def test_rows_and_positions_too_many_for_one_key(tiny_blocks):
    """A table of 2^62 rows: SelectedRows merge, too."""
    ids = np.random.default_rng(0).choice(np.random.default_rng(1).integers(0, 1 << 62, 20), 50)
    merged = lodkit.merge_selected_rows(lodkit.SelectedRows(ids, np.ones(50), 1 << 62))
    rows, counts = np.unique(ids, return_counts=True)
    np.testing.assert_array_equal(merged.rows, rows)
    np.testing.assert_array_equal(merged.value, counts)


def test_unique_returns_what_was_asked_for():
    assert isinstance(lodkit.unique([3, 1, 3]), np.ndarray)
    distinct, counts = lodkit.unique([3, 1, 3], return_counts=True)
    assert distinct.tolist() == [1, 3] and counts.tolist() == [1, 2]
    out = np.empty(2, np.int64)
    assert lodkit.unique([3, 1, 3], out=out) is out and out.tolist() == [1, 3]


def test_merged_lists_keep_the_levels_above():
    a = LoDTensor([5, 3, 7], [[1, 1], [2, 1]])
    merged = lodkit.merge_id_lists(a, LoDTensor([3, 7, 7], [[1, 1], [0, 3]]))
    assert merged.equals(LoDTensor([3, 5, 3, 7], [[1, 1], [2, 2]]))


def test_find_keeps_the_structure_of_queries():
    found = lodkit.find([4, 5, 4], LoDTensor([4, 6, 5], [[1, 2]]), missing_value=-9)
    assert found.equals(LoDTensor([2, -9, 1], [[1, 2]]))


LIST = LoDTensor([1, 2, 3], [[2, 1]])
WRONG = [
    ("unique", ([[1, 2]],), {}, lodkit.LoDError, r"ids must be one-dimensional, got shape \(1, 2\)"),
    (
        "unique",
        (np.array([1.5]),),
        {},
        lodkit.DTypeError,
        "unique takes integers, bool, datetime64 or timedelta64, not float64",
    ),
    ("find_duplicate_elements", ([[1]],), {}, lodkit.LoDError, r"data must be one-dimensional, got shape \(1, 1\)"),
    ("find_duplicate_elements", (np.array([1j]),), {}, lodkit.DTypeError, "takes floats.* not complex128"),
    ("find", ([[1]], [1]), {}, lodkit.LoDError, "ids must be one-dimensional"),
    ("find", ([1], [1.0]), {}, lodkit.DTypeError, "queries must be integers, not float64"),
    ("find", ([1], [1]), {"missing_value": 1 << 63}, ValueError, "got 9223372036854775808, which an int64"),
    ("find", ([1], [1]), {"missing_value": 0.5}, TypeError, "missing_value must be an integer"),
    ("merge_id_lists", (), {}, TypeError, "merge_id_lists lacks lists; call"),
    ("merge_id_lists", (np.array([1]),), {}, lodkit.NoKernelError, r"lists=Dense \(wrap it"),
    ("merge_id_lists", (LoDTensor([1]),), {}, lodkit.LoDLevelError, "list 0 has no levels"),
    ("merge_id_lists", (LIST, LoDTensor([1.0], [[1, 0]])), {}, lodkit.DTypeError, "list 1 must be integers"),
    ("merge_id_lists", (LoDTensor([[1]], [[1]]),), {}, lodkit.LoDError, "list 0 must be one-dimensional"),
    ("merge_id_lists", (LIST, LoDTensor([1], [[1]])), {}, lodkit.LoDMismatchError, "list 1 has 1 samples in 1 levels"),
    (
        "merge_id_lists",
        (LoDTensor([1, 2], [[1, 1], [1, 1]]), LoDTensor([1, 2], [[2, 0], [1, 1]])),
        {},
        lodkit.LoDMismatchError,
        r"the levels above list 1 are \[\[0, 2, 2\]\], those above list 0 \[\[0, 1, 2\]\]",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "attrs", "error", "text"), WRONG)
def test_wrong_inputs(name, inputs, attrs, error, text):
    with pytest.raises(error, match=text):
        lodkit.OPS[name](*inputs, **attrs)


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([2, 2], "last offset 4 .* does not equal values.shape"),
        ([4, -1], r"\[1\] = -1 is negative"),
        ([1], "exceed|too"),
    ],
)
def test_published_merge_checks_lengths(lengths, text):
    ids = np.array([3, 1, 2])
    with pytest.raises(lodkit.LoDError, match=text):
        lodkit.caffe2.MergeIdLists(np.array(lengths, np.int32), ids, np.array([1, 2], np.int32), ids)


def test_published_types():
    """Ids keep their type; what Caffe2 counts is int32; lengths may be int64."""
    for kind in (np.int32, np.int64):
        ids = np.array([3, 1, 3], kind)
        distinct, remapping = lodkit.caffe2.Unique(ids)
        assert (distinct.dtype, remapping.dtype) == (kind, np.int32)
        lengths, values = lodkit.caffe2.MergeIdLists(np.array([3], kind), ids, np.array([0]), ids[:0])
        assert (lengths.dtype, values.dtype, values.tolist()) == (np.int32, kind, [1, 3])
        assert lodkit.caffe2.Find(ids, ids).dtype == np.int32
        assert lodkit.caffe2.FindDuplicateElements(ids).dtype == np.int64
