"""Arrow's C interfaces from LoDTensor to LoDTensor: values and structure, memory, nulls, damaged arrays."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import arrow_producers as arrow
import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, Features, LoDError, LoDTensor
from lodkit.interop.arrow import c_data, columns
from lodkit.interop.arrow.exporting import Node, export, formats_of

NUMBERS = [
    *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
    "bool",
]


def ragged(dtype=np.float64, item=()):
    """Two articles; one has an empty sentence."""
    size = int(np.prod(item, dtype=int))
    values = (np.arange(7 * size).reshape(7, *item) % 5).astype(dtype)
    return LoDTensor(values, [[3, 1], [3, 0, 2, 2]])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("item", [(), (3,), (2, 3), (0,)], ids=str)
def test_a_round_trip_keeps_everything(dtype, item):
    whole = ragged(dtype, item)
    x = whole.values
    for t in (whole, whole[1:], whole[:0], whole[0], LoDTensor(x), LoDTensor(x[::2]), LoDTensor(x[:0], [[0, 0]])):
        back = LoDTensor.from_arrow(t)
        assert back.equals(t)
        assert back.dtype == dtype
        assert not back.values.flags.writeable or not back.values.size or dtype == "bool"
        assert not any(back.offsets(level).flags.writeable for level in range(t.lod_level))


def test_memory_is_shared():
    t = ragged()
    back = LoDTensor.from_arrow(LoDTensor.from_arrow(t))
    assert np.shares_memory(back.values, t.values)
    assert not np.shares_memory(back.offsets(0), t.offsets(0))
    with pytest.raises(ValueError, match="read-only"):
        back.values[0] = 1


def test_memory_outlives_the_source_and_goes_with_the_last_view():
    t = ragged()
    values = weakref.ref(t.values)
    view = LoDTensor.from_arrow(t).values[2:4]
    del t
    gc.collect()
    assert view.tolist() == [2, 3]
    assert values() is not None
    del view
    assert values() is None


@pytest.mark.parametrize("parts", [0, 1])
def test_capsules_that_nobody_reads_free_their_memory(parts):
    t = ragged()
    values = weakref.ref(t.values)
    capsules = t.__arrow_c_array__()[parts:]
    del t
    assert (values() is None) == (parts == 2)
    del capsules
    assert values() is None


def test_a_capsule_is_read_once():
    producer = arrow.Producer(arrow.numbers([1.0, 2.0]))
    assert LoDTensor.from_arrow(producer).values.tolist() == [1, 2]
    with pytest.raises(LoDError, match="array was consumed before"):
        LoDTensor.from_arrow(producer)
    stream = arrow.Stream(arrow.numbers([1.0]))
    LoDTensor.from_arrow(stream)
    with pytest.raises(LoDError, match="stream was consumed before"):
        LoDTensor.from_arrow(stream)


def test_a_parent_releases_the_children_that_were_not_moved():
    """As Arrow's specification says: a child that was moved away lives on by itself."""
    t = ragged(np.int64)
    values = weakref.ref(t.values)
    capsule = t.__arrow_c_array__()[1]
    top = arrow.array_in(capsule)
    middle, address = top.child(0), top.child(0).release
    leaf = c_data.ArrowArray.from_buffer_copy(middle.child(0))
    middle.child(0).release = None
    c_data.Release(address)(ctypes.addressof(top))
    assert not top.release
    assert not middle.release
    assert leaf.release
    del capsule, t
    gc.collect()
    numbers = (ctypes.c_int64 * leaf.length).from_address(leaf.buffer(1))
    assert list(numbers) == [0, 1, 2, 3, 4, 0, 1]
    assert values() is not None
    c_data.Release(leaf.release)(ctypes.addressof(leaf))
    assert values() is None
    assert not leaf.release


def test_another_thread_may_free():
    t = LoDTensor(np.arange(8.0), [[3, 5]])
    values, kept = weakref.ref(t.values), [LoDTensor.from_arrow(t)]
    del t
    assert values() is not None
    threads = [threading.Thread(target=kept.clear) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values() is None


def test_freeing_while_an_exception_is_raised_keeps_the_exception():
    """A frame that is left by an exception frees its variables while Python holds it."""

    def leave(t):
        held = t.__arrow_c_array__(), LoDTensor.from_arrow(t)
        assert held
        raise KeyError("the one")

    t = ragged()
    values = weakref.ref(t.values)
    for _ in range(3):
        with pytest.raises(KeyError, match="the one"):
            leave(t)
    del t
    gc.collect()
    assert values() is None


def test_an_import_that_fails_frees_what_it_read():
    made = np.array([0, 5, 2])
    offsets = weakref.ref(made)
    producer = arrow.Producer(Node(b"+L", 2, (None, made), (arrow.numbers([1.0] * 5),)))
    del made
    with pytest.raises(LoDError, match="malformed Arrow array: offset 2 at 2 follows 5"):
        LoDTensor.from_arrow(producer)
    del producer
    gc.collect()
    assert offsets() is None


def test_ten_thousand_round_trips_leak_nothing():
    t, features = ragged(item=(2,)), Features.from_list([{1: [1, 2]}, {2: [3]}])
    producer = [0.0, 1.0]

    def rounds(count):
        for _ in range(count):
            LoDTensor.from_arrow(t)
            Features.from_arrow(features)
            LoDTensor.from_arrow(arrow.Producer(arrow.lists([0, 2], arrow.numbers(producer))))
            t.__arrow_c_schema__()
            with pytest.raises(LoDError):
                LoDTensor.from_arrow(arrow.Producer(arrow.lists([0, 2, 1], arrow.numbers(producer))))

    values = t.values
    rounds(10)
    gc.collect()
    references, blocks = sys.getrefcount(values), sys.getallocatedblocks()
    rounds(10_000)
    gc.collect()
    now = sys.getrefcount(values)
    assert now == references
    assert sys.getallocatedblocks() - blocks < 1000


@pytest.mark.parametrize("held", ["capsules", "views"])
def test_the_interpreter_may_exit_first(held):
    code = f"""
import lodkit, threading
t = lodkit.LoDTensor([1.0, 2.0], [[2]])
capsules, views = t.__arrow_c_array__(), lodkit.LoDTensor.from_arrow(t)
import builtins
builtins.kept = {held}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# -- structure -------------------------------------------------------------------------------------------------------


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


# -- nulls -----------------------------------------------------------------------------------------------------------


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


# -- words -----------------------------------------------------------------------------------------------------------


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


# -- damaged arrays --------------------------------------------------------------------------------------------------


def change(**fields):
    def apply(struct):
        for name, value in fields.items():
            setattr(struct, name, value)

    return apply


def child(**fields):
    return lambda struct: change(**fields)(struct.child(0))


GOOD = arrow.lists([0, 1, 3], arrow.numbers([1.0, 2, 3]))


@pytest.mark.parametrize(
    ("node", "damage", "text"),
    [
        (arrow.lists([-1, 1, 3], arrow.numbers([1.0, 2, 3])), None, "the first offset is -1"),
        (arrow.lists([0, 3, 2], arrow.numbers([1.0, 2, 3])), None, "offset 2 at 2 follows 3"),
        (arrow.lists([0, 1, 4], arrow.numbers([1.0, 2, 3])), None, "a child has 3 elements, but its parent uses 4"),
        (arrow.lists([1, 3, 4], arrow.numbers([1.0, 2, 3])), None, "a child has 3 elements, but its parent uses 4"),
        (arrow.lists([0, -(1 << 31)], arrow.numbers([1.0]), format=b"+l"), None, "follows 0"),
        (arrow.lists([0, (1 << 63) - 1], arrow.numbers([1.0])), None, "its parent uses 9223372036854775807"),
        (GOOD, change(length=-1), "length -1"),
        (GOOD, change(offset=-1), "offset -1"),
        (GOOD, change(n_buffers=1), "buffer 1 of b'\\+L' is missing"),
        (GOOD, change(buffers=None), "is missing"),
        (GOOD, change(n_children=0), "child 0 of b'\\+L' is missing"),
        (GOOD, change(null_count=1), "1 nulls, but no bitmap"),
        (GOOD, child(length=2), "a child has 2 elements, but its parent uses 3"),
        (GOOD, child(offset=-1), "a child has"),
        (Node(b"+w:3", 2, (None,), (arrow.numbers([1.0] * 5),)), None, "a child has 5 elements, but its parent uses 6"),
        (Node(b"+w:-1", 2, (None,), (arrow.numbers([1.0] * 5),)), None, "lists of -1 elements"),
    ],
    ids=str,
)
def test_damaged_arrays_raise_before_anything_is_read_beyond_its_end(node, damage, text):
    with pytest.raises(LoDError, match=text):
        LoDTensor.from_arrow(arrow.Producer(node, damage))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (b"u", "not words"),
        (b"z", "not bytes"),
        (b"tdD", "not dates or times; cast to int64 first"),
        (b"d:5,2", "not decimals; cast to float64 first"),
        (b"+m", "not maps; Features.from_arrow reads maps"),
        (b"+vl", "not list views; cast to lists"),
        (b"+ud:0", "not unions"),
        (b"+r", "not runs; decode them first"),
        (b"+s", "not records; pass one field"),
        (b"?", "not the unknown format"),
    ],
    ids=str,
)
def test_types_that_are_no_numbers_are_refused_with_the_remedy(format, text):
    node = arrow.lists([0, 1], Node(format, 1, (None, np.zeros(1)), ()))
    with pytest.raises(DTypeError, match=text):
        LoDTensor.from_arrow(arrow.Producer(node))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: LoDTensor.from_arrow([[1]]), TypeError, "got list; lists go to from_nested"),
        (lambda: LoDTensor(None, [[1]]).__arrow_c_array__(), LoDError, "without values is no Arrow array"),
        (lambda: LoDTensor(np.array(["a"])).__arrow_c_array__(), DTypeError, "Arrow has no numbers of type <U1"),
        (lambda: LoDTensor(np.array([1j])).__arrow_c_array__(), DTypeError, "Arrow has no numbers of type complex128"),
    ],
    ids=str,
)
def test_misuse_names_the_remedy(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_values_on_a_tape_are_refused():
    x = LoDTensor(np.ones(3), [[1, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.relu(x)
        assert tape
        with pytest.raises(Exception, match="record"):
            y.__arrow_c_array__()
