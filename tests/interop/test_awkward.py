"""Awkward arrays as LoDTensors, and back."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from lodkit import DTypeError, LoDError, LoDTensor

ak = pytest.importorskip("awkward")
NESTED = [[[1, 2], []], [], [[3], [4, 5, 6]]]


def numpy_of(array):
    layout = array.layout
    while not isinstance(layout, ak.contents.NumpyArray):
        layout = layout.content
    return layout.data


def test_lists_of_any_depth():
    array = ak.Array(NESTED)
    t = LoDTensor.from_awkward(array)
    assert (t.to_list(), t.lod_level) == (NESTED, 2)
    assert np.shares_memory(t.values, numpy_of(array))
    assert LoDTensor.from_arrow(array).equals(t)
    for start in range(4):
        assert LoDTensor.from_awkward(array[start:]).to_list() == NESTED[start:]
    assert LoDTensor.from_awkward(array[[2, 0]]).to_list() == [NESTED[2], NESTED[0]]
    assert LoDTensor.from_awkward(array[::-1]).to_list() == NESTED[::-1]
    assert LoDTensor.from_awkward(ak.Array([1.5, 2.5])).lod_level == 0
    empty = LoDTensor.from_awkward(ak.Array([[], []]))
    assert (empty.to_list(), empty.dtype) == ([[], []], np.float64)


def test_regular_dimensions_are_items_below_lists_and_levels_above():
    x = np.arange(24.0).reshape(4, 2, 3)
    for values in (ak.Array(x), ak.from_regular(ak.Array(x), axis=None), ak.to_regular(ak.from_regular(x), axis=None)):
        rows = ak.unflatten(values, [1, 0, 3])
        t = LoDTensor.from_awkward(rows)
        assert t.to_list() == rows.to_list()
    t = LoDTensor.from_awkward(ak.unflatten(ak.to_regular(ak.Array(x), axis=1), [1, 0, 3]))
    assert (t.lod_level, t.shape) == (1, (4, 2, 3))
    pairs = ak.to_regular(ak.Array([[[1], [2, 3]], [[], [4]]]), axis=1)
    t = LoDTensor.from_awkward(pairs[1:])
    assert (t.to_list(), t.lod()) == ([[[], [4]]], [[0, 2], [0, 0, 1]])


def test_a_round_trip_shares_memory():
    for t in (
        LoDTensor(np.arange(6.0, dtype=np.float32), [[2, 1], [3, 1, 2]]),
        LoDTensor(np.arange(12).reshape(6, 2), [[2, 4]]),
        LoDTensor(np.arange(3)),
        LoDTensor(np.empty(0), [[0, 0]]),
    ):
        array = t.to_awkward()
        assert array.to_list() == t.to_list()
        back = LoDTensor.from_awkward(array)
        assert back.equals(t)
        assert not t.values.size or np.shares_memory(back.values, t.values)
    sliced = LoDTensor(np.arange(6.0), [[2, 4]])[1:]
    assert sliced.to_awkward().to_list() == [[2, 3, 4, 5]]
    assert ak.sum(LoDTensor([1.0, 2.0, 3.0], [[2, 1]]).to_awkward(), axis=1).to_list() == [3, 3]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ak.Array([[1], None]), DTypeError, "not None; drop it .* or fill it"),
        (lambda: ak.Array([[1, None]]), DTypeError, "not None"),
        (lambda: ak.Array([[{"a": 1}]]), DTypeError, r"not records; pass one field, x\['name'\]"),
        (lambda: ak.Array([["a"]]), DTypeError, "not words; for ids and words: LoDTensor.from_arrow"),
        (lambda: ak.Array([[1], 2]), DTypeError, "not a union"),
        (lambda: [[1]], TypeError, "takes an awkward.Array, got list; lists go to from_nested"),
    ],
    ids=["null list", "null", "record", "word", "union", "list"],
)
def test_what_is_no_list_of_numbers_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        LoDTensor.from_awkward(make())


def test_words_go_by_arrow():
    pytest.importorskip("pyarrow")
    array = ak.to_arrow(ak.Array([["b", "a"], [], ["a"]]), extensionarray=False)
    ids, words = LoDTensor.from_arrow(array, dictionary=True)
    assert [[words[i] for i in s] for s in ids.to_list()] == [["b", "a"], [], ["a"]]


def test_lists_that_are_none_are_read_as_empty_by_choice():
    for array in (
        ak.Array([[1], None, [2, 3]]),
        ak.Array([None, [[1, 2], None], [None, [3]], None]),
        ak.mask(ak.Array([[1], [4, 5], [2, 3]]), [True, False, True]),
        ak.mask(ak.Array([[[1], [2]], [[3], []]]), [False, True]),
        ak.mask(ak.to_regular(ak.Array([[[1], [2, 4]], [[3], []]]), axis=1), [False, True]),
        ak.Array([None, None, [1]])[:2],
    ):
        filled = [[] if part is None else [[] if x is None else x for x in part] for part in array.to_list()]
        assert LoDTensor.from_arrow(array, nulls="empty").to_list() == filled
        with pytest.raises(
            DTypeError, match=r"not None; .* or read lists that are None as empty ones, .*nulls='empty'"
        ):
            LoDTensor.from_arrow(array)
    with pytest.raises(DTypeError, match=r"not None; drop it .* or fill it \(awkward.fill_none\)$"):
        LoDTensor.from_arrow(ak.Array([[1, None]]), nulls="empty")
    with pytest.raises(DTypeError, match="not words; for ids and words"):
        LoDTensor.from_arrow(ak.Array([[1]]), dictionary=True)


def test_structure_alone_is_refused():
    with pytest.raises(LoDError, match="without values"):
        LoDTensor(None, [[1]]).to_awkward()


def test_nothing_dangles_and_nothing_leaks():
    values = LoDTensor.from_awkward(ak.Array([[1, 2], [3]])).values
    gc.collect()
    assert values.tolist() == [1, 2, 3]
    t = LoDTensor(np.arange(6.0), [[2, 4]])
    values = t.values
    t.to_awkward()
    gc.collect()
    references = sys.getrefcount(values)
    for _ in range(10_000):
        LoDTensor.from_awkward(t.to_awkward())
    gc.collect()
    now = sys.getrefcount(values)
    assert now == references
