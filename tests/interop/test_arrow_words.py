"""Words that pyarrow encodes have the ids, the order and the errors of words that are read one by one."""

from __future__ import annotations

import sys
import types

import arrow_producers as arrow
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lodkit import LoDTensor
from lodkit.interop.arrow import encoding, words
from lodkit.interop.arrow.exporting import Node

pa = pytest.importorskip("pyarrow")
law = settings(deadline=None, max_examples=300)
TEXTS = ("", "a", "b", "ab", "é", "e\u0301", "\0", "a\0", "𝄞", "of 12 bytes.", "of 13 bytes..", "of 13 bytes..." * 3)
TYPES = (pa.string(), pa.large_string(), pa.string_view())


def outcome(make, **options):
    """Ids to the bit, structure and words; or the error and its message. ``make`` makes the column anew."""
    try:
        ids, found = LoDTensor.from_arrow(make(), dictionary=True, **options)
    except Exception as error:
        return type(error), str(error)
    assert set(map(type, found)) <= {str}
    return ids.dtype, ids.values.tolist(), ids.values.flags.writeable, ids.lod(), found


def read_one_by_one(make, **options):
    """``outcome`` where pyarrow encodes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "encode_words", lambda parts: None)
        return outcome(make, **options)


@st.composite
def columns(draw):
    """Words, lists of words, of which some may be null and hide words, pairs of words; cut, or in chunks."""
    some = draw(st.lists(st.sampled_from(TEXTS), max_size=12))
    if draw(st.integers(0, 9)) == 0:
        some.append(None)
    column = pa.array(some, draw(st.sampled_from(TYPES)))
    kind = draw(st.sampled_from(["words", "lists", "pairs", "lists of pairs"]))
    if "pairs" in kind:
        column = pa.FixedSizeListArray.from_arrays(column[: len(column) // 2 * 2], 2)
    if "lists" in kind:
        offsets = sorted(draw(st.lists(st.integers(0, len(column)), min_size=1, max_size=5)))
        null = draw(st.lists(st.booleans(), min_size=len(offsets) - 1, max_size=len(offsets) - 1))
        column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), column, mask=pa.array(null, pa.bool_()))
    start = draw(st.integers(0, len(column)))
    if draw(st.booleans()):
        return column[start:]
    return pa.chunked_array([column[start:], column[:0], column[:start], column[: start // 2]])


@law
@given(columns(), st.sampled_from(["raise", "empty"]))
@example(pa.array([], pa.string()), "raise")
@example(pa.array(["x"] * 3 + ["y"], pa.string_view())[1:], "raise")
def test_encoded_by_pyarrow_or_one_by_one(column, nulls):
    assert outcome(lambda: column, nulls=nulls) == read_one_by_one(lambda: column, nulls=nulls)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_no_word_is_read_by_itself(monkeypatch, kind):
    monkeypatch.setattr(words, "_strings", None)
    some = pa.array(["b", "a", "b", "a longer word", "é"], kind)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3, 5], pa.int32()), some, mask=pa.array([True, False, False]))
    for column in (some, pa.chunked_array([some[:2], some[2:]])):
        ids, found = LoDTensor.from_arrow(column, dictionary=True)
        assert (ids.to_list(), found) == ([0, 1, 0, 2, 3], ["b", "a", "a longer word", "é"])
    ids, found = LoDTensor.from_arrow(lists, dictionary=True, nulls="empty")
    assert (ids.to_list(), found) == ([[], [0, 1], [2, 3]], ["a", "b", "a longer word", "é"])


def test_words_of_polars(monkeypatch):
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(words, "_strings", None)
    ids, found = LoDTensor.from_arrow(polars.Series(["b", "a longer word", "b"]), dictionary=True)
    assert (ids.to_list(), found) == ([0, 1, 0], ["b", "a longer word"])


def texts(*parts):
    """A column of words of any bytes."""
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    return Node(b"u", len(parts), (None, offsets, np.frombuffer(b"".join(parts), np.uint8)))


def views(*each, data=b"of 13 bytes.." * 2, prefix=0):
    """Words as views: length, buffer, offset."""
    rows = np.array([(length, prefix, buffer, offset) for length, buffer, offset in each], np.int32)
    return Node(b"vu", len(each), (None, rows, np.frombuffer(data, np.uint8), np.array([len(data)], np.int64)))


HIDDEN = arrow.lists([0, 2, 3], texts(b"\xff", b"\xfe\xff", b"a"), valid=[0, 1])


@pytest.mark.parametrize(
    ("node", "result"),
    [
        (texts(b"a", b"\xff\xfe", b"\xff"), "word 1, b'\\xff\\xfe', is not UTF-8"),
        (texts(b"a", b"\xed\xa0\x80"), "word 1, .* is not UTF-8"),
        (texts(b"a", b"\xc0\x80"), "word 1, .* is not UTF-8"),
        (texts(b"\xc3", b"\xa9"), "word 0, b'\\xc3', is not UTF-8"),
        (Node(b"u", 2, (None, np.array([0, 2, 1], np.int32), np.zeros(2, np.uint8))), "offset 1 at 2 follows 2"),
        (Node(b"u", 1, (None, np.array([-1, 1], np.int32), np.zeros(2, np.uint8))), "the first offset is -1"),
        (views((13, 0, 0), (13, 0, 13), (13, 0, 14)), "word 2 is outside its buffer"),
        (views((13, 0, 0), (13, 1, 0)), "word 1 is outside its buffer"),
        (views((13, -1, 0)), "word 0 is outside its buffer"),
        (views((13, 0, -1)), "word 0 is outside its buffer"),
        (views((-1, 0, 0)), "word 0 is outside its buffer"),
        (views((2**31 - 1, 0, 2**31 - 1)), "word 0 is outside its buffer"),
        (views((13, 0, 0), (13, 0, 13), prefix=7), [0, 0]),
        (views((1, 0, 0), (1, 0, 0), (2, -5, -5), prefix=97), [0, 0, 1]),
        (HIDDEN, [[], [0]]),
    ],
)
def test_damaged_words(node, result):
    make = lambda: arrow.Producer(node, arrow.with_nulls)  # noqa: E731
    assert outcome(make, nulls="empty") == read_one_by_one(make, nulls="empty")
    if isinstance(result, str):
        with pytest.raises(ValueError, match=result.replace("\\", "\\\\")):
            LoDTensor.from_arrow(make(), dictionary=True)
    else:
        assert LoDTensor.from_arrow(make(), dictionary=True, nulls="empty")[0].to_list() == result


def test_without_pyarrow(monkeypatch):
    make = lambda: arrow.Producer(arrow.words(["b", "a", "b"]))  # noqa: E731
    monkeypatch.setattr(encoding, "MIN_WORDS_TO_IMPORT", 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert outcome(make) == read_one_by_one(make)
    assert outcome(make)[1] == [0, 1, 0]


def test_pyarrow_is_imported_for_many_words(monkeypatch):
    monkeypatch.setattr(encoding, "sys", types.SimpleNamespace(modules={}))
    some = pa.array(["b", "a", "b"])
    assert LoDTensor.from_arrow(some, dictionary=True)[1] == ["b", "a"]
    monkeypatch.setattr(encoding, "MIN_WORDS_TO_IMPORT", 3)
    monkeypatch.setattr(words, "_strings", None)
    assert LoDTensor.from_arrow(some, dictionary=True)[1] == ["b", "a"]
    with pytest.raises(TypeError):
        LoDTensor.from_arrow(some[1:], dictionary=True)
