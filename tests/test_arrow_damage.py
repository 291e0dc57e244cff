"""Damaged arrays, types that are no numbers and misuse: each raises with the place and the remedy."""

from __future__ import annotations

import sys

import arrow_producers as arrow
import numpy as np
import pytest
from arrow_producers import ragged

import lodkit
from lodkit import DTypeError, LoDError, LoDTensor
from lodkit.interop.arrow import c_data, columns
from lodkit.interop.arrow.exporting import Node


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
        (Node(b"+w:9", 1 << 60, (None,), (arrow.lists([0], arrow.numbers([1.0])),)), None, "its parent uses"),
        (arrow.lists([0, 1 << 62], arrow.numbers([1.0]), valid=[0]), arrow.with_nulls, "its parent uses"),
    ],
    ids=lambda x: x.decode() if isinstance(x, bytes) else x if isinstance(x, str) else "damaged",
)
def test_damaged_arrays_raise_before_anything_is_read_beyond_its_end(node, damage, text):
    with pytest.raises(LoDError, match=text):
        LoDTensor.from_arrow(arrow.Producer(node, damage))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (b"u", "not words"),
        (b"z", "not bytes"),
        (b"tts", "not times of day; cast to int32 first"),
        (b"ttn", "not times of day; cast to int64 first"),
        (b"d:5,2", "not decimals; cast to float64 first"),
        (b"+m", "not maps; Features.from_arrow reads maps"),
        (b"+vl", "not list views; cast to lists"),
        (b"+ud:0", "not unions"),
        (b"+r", "not runs; decode them first"),
        (b"+s", "not records; pass one field"),
        (b"?", "not the unknown format"),
    ],
    ids=lambda x: x.decode() if isinstance(x, bytes) else x if isinstance(x, str) else "damaged",
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
        (lambda: LoDTensor(np.array([1j])).__arrow_c_array__(), DTypeError, "Arrow has no numbers of type complex128"),
    ],
    ids=lambda x: x.decode() if isinstance(x, bytes) else x if isinstance(x, str) else "damaged",
)
def test_misuse_names_the_remedy(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(("method", "library"), [("to_arrow", "pyarrow"), ("to_awkward", "awkward")])
def test_a_missing_library_is_named_with_its_extra(method, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    extra = {"pyarrow": "arrow"}.get(library, library)
    with pytest.raises(ImportError, match=rf'{method} needs {library}: pip install "lodkit\[{extra}\]"'):
        getattr(ragged(), method)()


def test_values_on_a_tape_are_refused():
    x = LoDTensor(np.ones(3), [[1, 2]])
    with lodkit.Tape() as tape:
        y = lodkit.relu(x)
        assert tape
        with pytest.raises(Exception, match="record"):
            y.__arrow_c_array__()


def record(*fields):
    return Node(b"+s", 1, (None,), fields)


def of_type(**fields):
    """Change the type of the first field, or the type itself where it has none."""

    def apply(producer):
        schema = c_data.ArrowSchema.from_address(c_data.pointer_of(producer.schema, c_data.SCHEMA))
        change(**fields)(schema.child(0) or schema)
        return producer

    return apply


ONE = arrow.lists([0, 2], arrow.numbers([1.0, 2]))


def test_fields_without_a_name_have_an_empty_one():
    """Arrow lets producers leave it out."""
    for nameless in (of_type(name=None), of_type(name=b"")):
        table = nameless(arrow.Producer(record(ONE, arrow.numbers([7])._replace(name=b"b"))))
        found = columns(table)
        assert found[""].to_list() == [[1, 2]] and found["b"].to_list() == [7]
        assert LoDTensor.from_arrow(nameless(arrow.Producer(record(ONE)))).to_list() == [[1, 2]]
    with pytest.raises(LoDError, match="two columns have the name ''; rename one"):
        columns(of_type(name=None)(arrow.Producer(record(ONE, ONE._replace(name=b"")))))


@pytest.mark.parametrize(
    ("node", "damage", "text"),
    [
        (record(ONE, ONE), of_type(name=b"\xff\xfe"), r"the name of field 0, b'\\xff\\xfe', is not UTF-8"),
        (record(ONE), of_type(format=None), "a type is missing, or has no format"),
        (ONE, of_type(format=None), "a type is missing, or has no format"),
        (Node(b"+w:" + b"9" * 5000, 1, (None,), (arrow.numbers([1.0]),)), of_type(), "lists of 9{80} elements"),
        (ONE, of_type(format=b"\xff"), "not the unknown format"),
    ],
)
def test_types_that_are_damaged(node, damage, text):
    with pytest.raises(lodkit.LodkitError, match=text):
        [columns(damage(arrow.Producer(node)))] if node.format == b"+s" else LoDTensor.from_arrow(
            damage(arrow.Producer(node))
        )


def views(length, sizes=(3,)):
    """A word as a view of 20 bytes."""
    view = np.array([20, 0, 0, 0], np.int32)
    return Node(b"vu", 1, (None, view, np.frombuffer(b"a" * 20, np.uint8), np.array([length], np.int64)))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (views(-1), "buffer 2 of b'vu' has -1 elements"),
        (views(-(1 << 63)), "buffer 2 of b'vu' has -9223372036854775808 elements"),
        (views(19), "word 0 is outside its buffer"),
        (
            Node(b"u", 1, (None, np.array([0, 2], np.int32), np.frombuffer(b"\xff\xfe", np.uint8))),
            "word 0, .* not UTF-8",
        ),
    ],
)
def test_words_that_are_damaged(node, text):
    with pytest.raises(LoDError, match=text):
        LoDTensor.from_arrow(arrow.Producer(node), dictionary=True)


def test_a_word_that_is_a_view():
    assert LoDTensor.from_arrow(arrow.Producer(views(20)), dictionary=True)[1] == ["a" * 20]
