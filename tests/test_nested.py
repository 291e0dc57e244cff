"""LoDTensor.from_nested: lists, arrays and whatever nests, or an error that says what to do."""

from __future__ import annotations

import collections
import datetime

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDError, LoDTensor

A, B, C = np.array([1, 2]), np.array([3]), np.zeros(0, np.int64)
NESTED = [[1, 2], [3], []]


@pytest.mark.parametrize(
    "x",
    [
        NESTED,
        tuple(map(tuple, NESTED)),
        [[1, 2], (3,), []],
        [A, B, C],
        (A, B, C),
        [A, [3], ()],
        [range(1, 3), B, []],
        collections.deque(NESTED),
        iter(NESTED),
        (row for row in NESTED),
        dict(enumerate(NESTED)).values(),
        np.array(NESTED, dtype=object),
        np.array([A, B, C], dtype=object),
        LoDTensor([1, 2, 3], [[2, 1, 0]]),
        [LoDTensor(A), LoDTensor(B), LoDTensor(C)],
        [[np.int64(1), np.array(2)], [3], []],
        [[True + 0, 2], [3], []],
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_nests(x):
    found = LoDTensor.from_nested(x)
    assert found.equals(LoDTensor([1, 2, 3], [[2, 1, 0]]))
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("x", "lengths", "shape"),
    [
        ([], [], (0,)),
        ([1, 2], [], (2,)),
        ([[], []], [[0, 0]], (0,)),
        (np.ones(3), [], (3,)),
        (np.ones((2, 3)), [[3, 3]], (6,)),
        (np.ones((2, 3, 4)), [[3, 3]], (6, 4)),
        (np.ones((0, 3)), [[]], (0,)),
        (np.ones((2, 0)), [[0, 0]], (0,)),
        ([np.ones((2, 4)), np.ones((1, 4))], [[2, 1]], (3, 4)),
        ([np.ones((2, 4)), []], [[2, 0]], (2, 4)),
        ([[np.ones(4), np.ones(4)], [], [np.ones(4)]], [[2, 0, 1]], (3, 4)),
        ([[[1], [2, 3]], np.array([[4], [5]])], [[2, 2], [1, 2, 1, 1]], (5,)),
        ([[A, B], [C]], None, None),
        ([LoDTensor([1, 2, 3], [[2, 1]]), LoDTensor([4], [[1]])], [[2, 1], [2, 1, 1]], (4,)),
    ],
)
def test_levels_and_items(x, lengths, shape):
    if lengths is None:
        with pytest.raises(LoDError, match="if they are sequences, not rows, pass lod_level=2"):
            LoDTensor.from_nested(x)
        assert LoDTensor.from_nested(x, lod_level=2).to_list() == [[[1, 2], [3]], [[]]]
        return
    found = LoDTensor.from_nested(x)
    assert found.recursive_sequence_lengths() == lengths
    assert found.shape == shape
    if lengths:
        assert LoDTensor.from_nested(x, lod_level=len(lengths)).equals(found)


def test_arrays_and_lists_of_arrays_agree():
    x = np.arange(24.0).reshape(2, 3, 4)
    for level in (None, 0, 1, 2):
        found = LoDTensor.from_nested(x, lod_level=level)
        assert found.equals(LoDTensor.from_nested(x.tolist(), lod_level=1 if level is None else level))
        assert np.shares_memory(found.values, x)
        if level != 0:
            assert found.equals(LoDTensor.from_nested(list(x), lod_level=level))


def test_dtype():
    for x in (NESTED, [A, B, C], np.ones((2, 3)), LoDTensor([1, 2], [[2]])):
        assert LoDTensor.from_nested(x, dtype=np.float32).dtype == np.float32
    assert LoDTensor.from_nested([[1.5], []], dtype="int32").values.tolist() == [1]
    assert LoDTensor.from_nested(np.array([[1, 2], [3]], object), dtype=np.int8).dtype == np.int8


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ("the cat", TypeError, r"split it into words, and make ids of them by lodkit\.vocabulary"),
        (b"the cat", TypeError, "decode it"),
        (type("LazyFrame", (), {})(), TypeError, r"got LazyFrame: pass one column, x\.collect\(\)\[\"name\"\]"),
        ({"a": [1]}, TypeError, r"Features\.from_list"),
        ({1, 2}, TypeError, r"pass sorted\(x\)"),
        (3, TypeError, "takes nested lists, arrays, columns or tensors, got int"),
        (None, TypeError, "got NoneType"),
        (lodkit.SelectedRows([1], [1.0], 2), TypeError, r"pass x\.value"),
        (lodkit.Features([0], [], [], []), TypeError, r"pass x\.values"),
        ([["the", "cat"]], DTypeError, r"holds text \('the'\) at \[0, 0\]; make ids: vocab = lodkit"),
        ([[1, "cat"]], DTypeError, r"text \('cat'\) at \[0, 1\]"),
        ([np.array(["the"])], DTypeError, r"lodkit\.vocabulary"),
        (np.array([["the"], ["a", "b"]], dtype=object), DTypeError, r"lodkit\.vocabulary"),
        ([[1, None]], DTypeError, r"holds None at \[0, 1\], a missing value: drop it, or fill it"),
        ([[1], None], LoDError, r"item 1 of level 0 is None, not a list; .* fill missing lists with \[\]"),
        ([[1], float("nan")], LoDError, r"fill missing lists with \[\]"),
        ([[1], 2], LoDError, "item 1 of level 0 is 2, not a list; every row lies 2 lists deep$"),
        ([[[1], 2], [[3]]], LoDError, "item 1 of level 1 is 2, not a list; every row lies 3 lists deep"),
        ([[object()]], DTypeError, r"holds Python objects \(object\)"),
        ([[{}]], DTypeError, r"Python objects \(dict\)"),
        ([[datetime.date(2020, 1, 1)]], DTypeError, r"Python objects \(date\)"),
        ([[1 << 70]], DTypeError, "which 64 bits do not hold"),
        ([[[1, 2]], [[3]], [4]], LoDError, "item 2 of level 1 is 4"),
        ([np.ones((2, 2)), np.ones((1, 3))], LoDError, r"sequence 1 has items of shape \(3,\)"),
        ([np.ma.masked_array([1.0], [True])], TypeError, "masked"),
    ],
)
def test_what_does_not_nest(x, error, message):
    with pytest.raises(error, match=message):
        LoDTensor.from_nested(x)


def test_levels_that_are_not_there():
    with pytest.raises(LoDError, match="item 0 of level 1 is 1, not a list; every row lies 3 lists deep"):
        LoDTensor.from_nested([[1, 2]], lod_level=2)
    with pytest.raises(LoDError, match=r"an array of shape \(2, 3\) has 1 levels at most, not lod_level=2"):
        LoDTensor.from_nested(np.ones((2, 3)), lod_level=2)
    with pytest.raises(LoDError, match="LoDTensor has lod_level 1, not 2"):
        LoDTensor.from_nested(LoDTensor([1], [[1]]), lod_level=2)
    endless = []
    endless.append(endless)
    with pytest.raises(LoDError, match="more than 64 deep"):
        LoDTensor.from_nested(endless)


@pytest.mark.parametrize("dtype", ["U3", "S3", object])
def test_text_and_objects_are_no_values(dtype):
    words = np.array(["a", "b"], dtype)
    t = LoDTensor([1, 2], [[2]])
    for call in (
        lambda: LoDTensor(words, [[2]]),
        lambda: LoDTensor(["a", "b"], [[2]]),
        lambda: t.with_values(words),
        lambda: t.set_values(words),
        lambda: LoDTensor.from_padded(words[None], [2]),
        lambda: LoDTensor.from_sequences([words]),
        lambda: LoDTensor.from_uniform(words[None]),
        lambda: LoDTensor.from_segment_ids(words, [0, 1]),
        lambda: lodkit.lookup_table(np.ones((3, 2)), words),
        lambda: lodkit.lookup_table(np.ones((3, 2)), ["a", "b"]),
        lambda: lodkit.SelectedRows([0], words[:1], 3),
        lambda: lodkit.SelectedRows([0], ["a"], 3),
    ):
        with pytest.raises(DTypeError, match=r"lodkit\.vocabulary"):
            call()
    assert t.values.tolist() == [1, 2]


def test_objects_that_are_numbers():
    with pytest.raises(DTypeError, match=r"has dtype object; convert with \.astype\(np\.int64\)"):
        LoDTensor(np.array([1, 2], object))
    with pytest.raises(DTypeError, match=r"LoDTensor\.from_nested\(values\)"):
        LoDTensor(np.array([[1], [2, 3]], object))


def test_labels_may_be_text():
    t = LoDTensor([1, 2], [[1, 1]])
    ((_, labels),) = lodkit.batches(t, ["a", "b"], size=2, seed=0)
    assert sorted(labels.tolist()) == ["a", "b"]


def test_what_is_empty_decides_no_type():
    """NumPy gives an empty list float64, with which ids beside it would be no ids."""
    for ids in ([A, np.array([])], [np.array([]), A], [A, [], np.array([])]):
        assert LoDTensor.from_nested(ids).dtype == np.int64
    assert LoDTensor.from_nested([[A], [np.array([]), A]], lod_level=2).dtype == np.int64
    assert LoDTensor.from_sequences([np.array([]), A]).dtype == np.int64
    assert LoDTensor.from_nested([A, np.array([0.5])]).dtype == np.float64
    assert LoDTensor.from_nested([np.zeros(0, np.float32), np.zeros(0, np.float32)]).dtype == np.float32


@pytest.mark.parametrize("column", [[], np.array([], dtype=object)])
def test_a_column_without_rows(column):
    table = np.ones((4, 2))
    with pytest.raises(lodkit.LoDLevelError, match=r"LoDTensor\.from_nested\(x, lod_level=1\)"):
        lodkit.embedding_bag(table, LoDTensor.from_nested(column))
    assert lodkit.embedding_bag(table, LoDTensor.from_nested(column, lod_level=1)).shape == (0, 2)
