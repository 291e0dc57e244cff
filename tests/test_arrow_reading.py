"""What arrays of the Arrow C interface become: slices, chunks, tables, requested types, nulls, words."""

from __future__ import annotations

import ctypes
import gc

import arrow_producers as arrow
import numpy as np
import pytest
from arrow_producers import ragged

from lodkit import DTypeError, Features, LoDError, LoDTensor
from lodkit.interop.arrow import columns
from lodkit.interop.arrow.exporting import Node, export, formats_of

pytestmark = pytest.mark.usefixtures("frozen_heap")


def test_slices_start_anywhere():
    node = arrow.lists([2, 2, 5, 6], arrow.numbers(np.arange(9.0)), format=b"+l")
    for offset, length, expected in ((0, 3, [[], [2, 3, 4], [5]]), (1, 2, [[2, 3, 4], [5]]), (3, 0, [])):

        def cut(struct, offset=offset, length=length):
            struct.offset, struct.length = offset, length

        t = LoDTensor.from_arrow(arrow.Producer(node, cut))
        assert t.to_list() == expected
        assert t.lod_level == 1
        t = LoDTensor.from_arrow(arrow.Producer(arrow.lists([0, 3], node), lambda s, cut=cut: cut_child(s, cut)))
        assert t.to_list() == [expected]


def cut_child(struct, cut):
    cut(struct.child(0))
    offsets = (ctypes.c_int64 * 2).from_address(struct.buffer(1))
    offsets[1] = struct.child(0).length


def test_lists_of_fixed_size_above_lists_are_a_level():
    inner = arrow.lists([0, 1, 3, 3, 4], arrow.numbers([1.0, 2, 3, 4]))
    t = LoDTensor.from_arrow(arrow.Producer(Node(b"+w:2", 2, (None,), (inner,))))
    assert t.to_list() == [[[1], [2, 3]], [[], [4]]]

    def second(struct):
        struct.offset, struct.length = 1, 1

    t = LoDTensor.from_arrow(arrow.Producer(Node(b"+w:2", 2, (None,), (inner,)), second))
    assert t.to_list() == [[[], [4]]]


def test_chunks_become_one_tensor():
    chunks = [arrow.lists([0, 2], arrow.numbers([1.0, 2])), arrow.lists([0], arrow.numbers(np.empty(0)))]
    stream = arrow.Stream(*chunks, arrow.lists([1, 2, 3], arrow.numbers([3.0, 4, 5])))
    assert LoDTensor.from_arrow(stream).to_list() == [[1, 2], [4], [5]]
    assert stream.released == 1
    schema = export(arrow.lists([0], arrow.numbers(np.empty(0, np.int8))), with_array=False)
    t = LoDTensor.from_arrow(arrow.Stream(schema=schema))
    assert (t.to_list(), t.lod_level, t.dtype) == ([], 1, np.int8)


def test_a_stream_that_fails_says_why_and_is_released():
    stream = arrow.Stream(arrow.numbers([1.0]), error=b"the disk is gone")
    with pytest.raises(LoDError, match="the Arrow stream failed: the disk is gone"):
        LoDTensor.from_arrow(stream)
    gc.collect()
    assert stream.released == 1


def table(*fields, length=2):
    return Node(b"+s", length, (None,), tuple(node._replace(name=name.encode()) for name, node in fields))


def test_a_table_is_read_by_columns():
    ids = arrow.lists([0, 1, 3], arrow.numbers([1.0, 2, 3]))
    found = columns(arrow.Producer(table(("label", arrow.numbers([3, 4])), ("ids", ids))))
    assert {name: t.to_list() for name, t in found.items()} == {"label": [3, 4], "ids": [[1], [2, 3]]}
    ids = found.pop("ids")
    del found
    gc.collect()
    assert ids.to_list() == [[1], [2, 3]]
    with pytest.raises(TypeError, match=r"this table has 2 \(a, b\); lodkit.interop.arrow.columns"):
        LoDTensor.from_arrow(arrow.Producer(table(("a", arrow.numbers([1])), ("b", arrow.numbers([2])), length=1)))
    assert LoDTensor.from_arrow(arrow.Producer(table(("a", arrow.numbers([5])), length=1))).to_list() == [5]
    with pytest.raises(LoDError, match="two columns have the name 'a'"):
        columns(arrow.Producer(table(("a", arrow.numbers([1])), ("a", arrow.numbers([2])), length=1)))
    with pytest.raises(TypeError, match="columns takes a table, got one column"):
        columns(ragged())


def test_a_requested_type_is_given_where_nothing_is_lost():
    t = ragged(np.float32)
    wanted = export(arrow.lists([0], arrow.lists([0], arrow.numbers(np.empty(0)), format=b"+l")), with_array=False)
    assert formats_of(t.__arrow_c_array__(wanted)[0]) == [b"+L", b"+l", b"g"]
    flat = export(arrow.numbers(np.empty(0, np.int8)), with_array=False)
    assert formats_of(t.__arrow_c_array__(flat)[0]) == formats_of(t.__arrow_c_schema__()) == [b"+L", b"+L", b"f"]


def test_features_round_trip():
    for examples in ([{1: [10, 11], 3: [101]}, {}, {2: []}], [{1: 2.5}, {}], [{1: {5: 0.5}, 2: {}}], []):
        features = Features.from_list(examples)
        assert Features.from_arrow(features) == features
    with pytest.raises(DTypeError, match="Arrow's maps take one number per value"):
        Features.from_list([{1: [[1, 2]]}]).__arrow_c_array__()


def test_null_lists_raise_or_are_empty():
    node = arrow.lists([0, 2, 2, 3], arrow.numbers([1.0, 2, 3]), valid=[1, 0, 1])
    with pytest.raises(LoDError, match=r"x\[1\] is null; read null lists as empty ones with nulls='empty'"):
        LoDTensor.from_arrow(arrow.Producer(node, arrow.with_nulls))
    t = LoDTensor.from_arrow(arrow.Producer(node, arrow.with_nulls), nulls="empty")
    assert t.to_list() == [[1, 2], [], [3]]
    with pytest.raises(ValueError, match="nulls must be 'raise' or 'empty', got 'drop'"):
        LoDTensor.from_arrow(ragged(), nulls="drop")


def test_what_a_null_list_hides_is_left_out():
    values = arrow.numbers(np.arange(7.0), valid=[1, 1, 0, 1, 1, 0, 1])
    inner = arrow.lists([0, 2, 3, 5, 6, 7], values, valid=[1, 0, 1, 1, 1])
    outer = arrow.lists([0, 3, 4, 5], inner, valid=[1, 0, 1])
    t = LoDTensor.from_arrow(arrow.Producer(outer, arrow.with_nulls), nulls="empty")
    assert t.to_list() == [[[0, 1], [], [3, 4]], [], [[6]]]
    assert t.lod() == [[0, 3, 3, 4], [0, 2, 2, 4, 5]]


def test_items_in_a_null_list_are_left_out():
    items = Node(b"+w:2", 3, (arrow.bitmap([1, 0, 1]),), (arrow.numbers(np.arange(6.0), valid=[1, 1, 0, 0, 1, 1]),))
    node = arrow.lists([0, 1, 2, 3], items, valid=[1, 0, 1])
    t = LoDTensor.from_arrow(arrow.Producer(node, arrow.with_nulls), nulls="empty")
    assert t.to_list() == [[[0, 1]], [], [[4, 5]]]


@pytest.mark.parametrize("nulls", ["raise", "empty"])
def test_null_values_raise_with_their_place(nulls):
    node = arrow.lists([0, 2, 2, 4], arrow.numbers(np.arange(4.0), valid=[1, 1, 1, 0]))
    with pytest.raises(LoDError, match=r"x\[2\]\[1\] is null, and a value must not be; fill it first"):
        LoDTensor.from_arrow(arrow.Producer(node, arrow.with_nulls), nulls=nulls)
    pairs = Node(b"+w:2", 3, (None,), (arrow.numbers(np.arange(6.0), valid=[1, 1, 1, 0, 1, 1]),))
    with pytest.raises(LoDError, match=r"x\[1\]\[1\] is null"):
        LoDTensor.from_arrow(arrow.Producer(pairs, arrow.with_nulls), nulls=nulls)
    pairs = Node(b"+w:2", 3, (arrow.bitmap([1, 1, 0]),), (arrow.numbers(np.arange(6.0)),))
    with pytest.raises(LoDError, match=r"x\[2\] is null, and an item of fixed size must not be"):
        LoDTensor.from_arrow(arrow.Producer(pairs, arrow.with_nulls), nulls=nulls)


def test_words_become_ids():
    node = arrow.lists([0, 2, 2, 5], arrow.words(["a", "bé", "a", "", "bé"]))
    ids, words = LoDTensor.from_arrow(arrow.Producer(node), dictionary=True)
    assert (ids.to_list(), words) == ([[0, 1], [], [0, 2, 1]], ["a", "bé", ""])
    with pytest.raises(DTypeError, match="not words; pass dictionary=True for ids and the list of words"):
        LoDTensor.from_arrow(arrow.Producer(node))
    with pytest.raises(DTypeError, match="dictionary=True is for words, not"):
        LoDTensor.from_arrow(ragged(), dictionary=True)
    stream = arrow.Stream(node, arrow.lists([0, 3], arrow.words(["c", "a", ""])))
    ids, words = LoDTensor.from_arrow(stream, dictionary=True)
    assert ([[words[i] for i in s] for s in ids.to_list()], len(words)) == (
        [["a", "bé"], [], ["a", "", "bé"], ["c", "a", ""]],
        4,
    )
