"""Sequences that are joined at once are what reading them one by one gives: rows, types, structure and errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor
from lodkit.lod import encodings, joining, nesting

law = settings(deadline=None, max_examples=400)
FIELDS = np.dtype([("a", np.int32), ("b", np.float32)])
OBJECTS_IN_FIELDS = np.dtype([("a", np.int32), ("b", object)])
TYPES = (
    *("bool", "int8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", ">i8", "<f4"),
    *("U3", "S2", "M8[s]", "O", FIELDS, OBJECTS_IN_FIELDS),
)
COMMON = ("int32", "int64", "float32")


class Subclass(np.ndarray):
    """An array of a kind of its own."""


def outcome(call, *given, **settings):
    """What a call gives: rows to the bit, type and structure; or the error and its message."""
    try:
        t = call(*given, **settings)
    except Exception as error:
        return type(error), str(error)
    values = t.values
    if not isinstance(values, np.ndarray):
        return str(values.dtype), values.shape, values.tolist(), t.lod(), values.requires_grad
    rows = values.tolist() if values.dtype.hasobject else values.tobytes()
    return type(values), values.dtype, values.shape, rows, t.lod(), values.flags.writeable


def read_one_by_one(call, *given, **settings):
    """``outcome`` where nothing is joined at once."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (encodings, nesting):
            patch.setattr(module, "join_sequences", lambda cls, parts, kinds: None)
        return outcome(call, *given, **settings)


@st.composite
def arrays(draw, types=TYPES, items=((), (2,), (0,), (2, 3))):
    """An array of rows, contiguous or not; sometimes without dimension, masked, or of a subclass."""
    dtype, item = draw(st.sampled_from(types)), draw(st.sampled_from(items))
    rows = draw(st.integers(0, 3))
    numbers = np.arange(1, rows * int(np.prod(item, dtype=int)) + 1).reshape(rows, *item)
    x = numbers.astype(dtype) if dtype not in (FIELDS, OBJECTS_IN_FIELDS) else np.zeros(numbers.shape, dtype)
    how = draw(st.sampled_from(["plain"] * 12 + ["reversed", "strided", "scalar", "masked", "subclass", "frozen"]))
    if how == "reversed":
        return x[::-1]
    if how == "strided":
        return np.repeat(x, 2, axis=0)[::2]
    if how == "scalar":
        return np.zeros((), x.dtype)
    if how == "frozen":
        x.setflags(write=False)
    return np.ma.masked_array(x) if how == "masked" else x.view(Subclass) if how == "subclass" else x


NUMBERS = (
    *(0, 1, -1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0, float("nan"), float("inf")),
    *(True, False, np.int64(3), np.float32(0.1), np.float64(0.1), np.int8(1), np.bool_(True), None, "a", 1j),
)


@st.composite
def lists(draw, pool=None, depth=1):
    """A list, or a tuple, of numbers of a few kinds, or of such lists."""
    pool = pool or [st.sampled_from(draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3)))]
    below = st.one_of(*pool) if depth == 1 else lists(pool, depth - 1)
    made = draw(st.lists(below, max_size=3))
    return tuple(made) if draw(st.integers(0, 9)) == 0 else made


@st.composite
def batches(draw):
    """Sequences of one kind, of which a few may be of another."""
    some = [st.sampled_from(draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=2)))]
    one_type = draw(st.sampled_from(TYPES)), draw(st.sampled_from(COMMON))
    one_item = draw(st.sampled_from([(), (2,), (0,), (2, 3)]))
    alike = [arrays(one_type[1:], [one_item]), arrays(one_type, [one_item]), arrays(COMMON), arrays()]
    kinds = [*alike, lists(some), lists(some, depth=2), lists(), st.one_of(arrays(), lists(some), lists(depth=2))]
    kind = kinds[draw(st.integers(0, len(kinds) - 1))]
    made = draw(st.lists(kind, max_size=5))
    return tuple(made) if draw(st.booleans()) else made


@law
@given(batches(), st.sampled_from([None, None, 0, 1, 2]), st.sampled_from([None, None, "float32", "int8"]))
@example([np.zeros(2, np.int32), np.zeros(0, object)], None, None)
@example([np.zeros(2, np.int32), np.zeros(0)], None, None)
@example([np.zeros((2, 0)), np.zeros((0, 0))], 1, None)
@example([[2**63], [-1]], None, None)
@example([[True], [2]], None, None)
@example([[2**53 + 1], [0.5]], None, None)
@example([np.broadcast_to(np.int8(0), (2**62, 0))] * 2, None, None)
@example([np.broadcast_to(np.int8(0), 2**62)] * 2, None, None)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_joined_at_once_or_one_by_one(x, lod_level, dtype):
    options = {"lod_level": lod_level, "dtype": dtype}
    assert outcome(LoDTensor.from_sequences, x) == read_one_by_one(LoDTensor.from_sequences, x)
    for nested in (x, [x, x]):
        found = outcome(LoDTensor.from_nested, nested, **options)
        assert found == read_one_by_one(LoDTensor.from_nested, nested, **options)


@pytest.mark.parametrize("dtype", ["bool", "int16", "int64", "uint64", "float16", "float32", ">f8", FIELDS])
@pytest.mark.parametrize("item", [(), (3,), (2, 2)])
def test_arrays_are_read_in_one_call(monkeypatch, dtype, item):
    x = [np.ones((n, *item), dtype) for n in (2, 0, 3)]
    monkeypatch.setattr(encodings, "rows_of", None)
    monkeypatch.setattr(nesting, "_part", None)
    for t in (LoDTensor.from_sequences(x), LoDTensor.from_nested(x), LoDTensor.from_nested(tuple(x))):
        assert t.recursive_sequence_lengths() == [[2, 0, 3]]
        assert t.values.dtype == np.concatenate(x).dtype
        assert np.array_equal(t.values, np.concatenate(x))
    deep = LoDTensor.from_nested([x, x[:1]], lod_level=2)
    assert deep.recursive_sequence_lengths() == [[3, 1], [2, 0, 3, 2]]


@pytest.mark.parametrize("kind", [int, float, bool, np.float32, np.int32])
def test_numbers_are_read_in_one_call(monkeypatch, kind):
    x = [[kind(3), kind(0)], [], (kind(1),)]
    monkeypatch.setattr(encodings, "rows_of", None)
    monkeypatch.setattr(nesting, "plain_rows", None)
    for t in (LoDTensor.from_sequences(x), LoDTensor.from_nested(x)):
        assert t.to_list() == [[kind(3), kind(0)], [], [kind(1)]]
        assert t.dtype == np.dtype(kind)


def test_an_empty_array_decides_no_type():
    made = LoDTensor.from_sequences([np.zeros(0), np.ones(2, np.int8), np.zeros(0, np.int64)])
    assert made.dtype == np.int8
    assert made.recursive_sequence_lengths() == [[0, 2, 0]]
    assert LoDTensor.from_sequences([np.zeros(0, np.int8), np.zeros(0, np.int16)]).dtype == np.int16


def test_values_are_a_copy():
    x = np.zeros(2)
    t = LoDTensor.from_nested([x])
    x[:] = 1
    assert t.values.tolist() == [0, 0]


def test_parameters_and_recorded_arrays_are_read_one_by_one():
    w = lodkit.parameter(np.ones(3))
    for call in (LoDTensor.from_sequences, LoDTensor.from_nested):
        assert outcome(call, [w, w]) == read_one_by_one(call, [w, w])
        assert outcome(call, [w, np.ones(3)]) == read_one_by_one(call, [w, np.ones(3)])
        with lodkit.Tape():
            assert outcome(call, [w * 2, w]) == read_one_by_one(call, [w * 2, w])
            assert outcome(call, [np.ones(3), w]) == read_one_by_one(call, [np.ones(3), w])


def test_values_are_recorded_on_a_tape_as_ever():
    x = [np.ones(2), np.ones(1)]
    for call in (LoDTensor.from_sequences, LoDTensor.from_nested):
        with lodkit.Tape():
            assert outcome(call, x)[0] is not np.ndarray
            assert outcome(call, x) == read_one_by_one(call, x)


def test_a_list_that_another_thread_changes(monkeypatch):
    """Lengths and rows that do not belong together give no tensor; then the list is read anew."""
    x = [np.ones(2), np.ones(3)]
    count = joining.count_parts

    def change_and_count(parts):
        lengths = count(parts)
        thread = threading.Thread(target=x.__setitem__, args=(1, np.ones(4)))
        thread.start()
        thread.join()
        return lengths

    monkeypatch.setattr(joining, "count_parts", change_and_count)
    assert LoDTensor.from_nested(x).recursive_sequence_lengths() == [[2, 4]]
