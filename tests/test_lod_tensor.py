"""LoDTensor: construction and its errors, views, indexing, comparison, conversions."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from lodkit import LoDError, LoDLevelError, LoDMismatchError, LoDTensor

LENGTHS = [[3, 1, 2], [3, 2, 4, 1, 2, 3]]


@pytest.fixture
def t():
    return LoDTensor(np.arange(15), LENGTHS)


@pytest.fixture
def deep():
    """Four levels, with empty sequences at both ends and in the middle of each."""
    lengths = [[0, 3, 2], [2, 0, 1, 2, 0], [0, 3, 1, 0, 1], [2, 0, 3, 1, 4]]
    return LoDTensor(np.arange(20).reshape(10, 2), lengths)


@pytest.mark.parametrize("level", [np.int8(0), np.array(0)], ids=["a NumPy number", "an array without dimensions"])
def test_levels_of_any_kind_of_integer(level):
    t = LoDTensor(None, [[2, 1], [3, 1, 2]])
    assert t.offsets(level).tolist() == t.offsets(level).tolist() == [0, 2, 3]
    assert t.row_offsets(level).tolist() == t.row_offsets(level).tolist() == [0, 4, 6]


@pytest.mark.parametrize("kind", [list, tuple, np.int32, np.int64, np.uint8])
def test_lengths_may_be_lists_tuples_or_integer_arrays(kind):
    levels = [kind(n) if kind in (list, tuple) else np.array(n, kind) for n in LENGTHS]
    t = LoDTensor(np.arange(15), levels)
    assert t.recursive_sequence_lengths() == LENGTHS
    assert all(offsets.dtype == np.int64 for offsets in t._lod)


def test_no_levels_is_a_plain_array():
    t = LoDTensor([[1, 2], [3, 4]])
    assert (t.lod_level, len(t), t.lod(), t.recursive_sequence_lengths()) == (0, 2, [], [])
    assert t[1].tolist() == [3, 4]
    assert t[1:].values.tolist() == [[3, 4]]
    assert [row.tolist() for row in t] == [[1, 2], [3, 4]]
    with pytest.raises(LoDLevelError, match=r"lod_level 0; attach lengths"):
        t.row_offsets()


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        ([[3, 1, 2], [3, 2, 4, 1, 2]], LoDError, r"level 1 .* 5 lengths, but level 0 sums to 6 \(\[3"),
        ([[3, -1, 2]], LoDError, r"recursive_sequence_lengths\[0\]\[1\] = -1 is negative"),
        ([[2**62, 2**62]], LoDError, r"add up to 9223372036854775808, more than int64"),
        ([[3, 1, 3]], LoDError, r"last offset 7 .* does not equal values.shape\[0\]=6 \(1 too many\)"),
        ([[3, 1]], LoDError, r"last offset 4 .*\(2 too few\)"),
        ([[]], LoDError, r"last offset 0 .*\(6 too few\)"),
        ([3, 1, 2], LoDError, r"is 3, not a list; give one list per level.*\[\[3, 1, 2\]\]"),
        ({1: 2}, LoDError, r"is 1, not a list; give one list per level.*\[\[1\]\]"),
        (b"x", LoDError, r"is 120, not a list; give one list per level.*\[\[120\]\]"),
        ([[[3, 1, 2]]], LoDError, r"\[0\] has shape \(1, 3\); a level is one-dimensional"),
        ([[3.0, 1.0, 2.0]], TypeError, r"lengths\[0\] must be integers, not float64"),
        ([[True, False]], TypeError, r"recursive_sequence_lengths\[0\].*bool"),
        ([np.array([2**63], np.uint64)], IndexError, r"\[0\] = 9223372036854775808 is above 2\^63 - 1"),
    ],
)
def test_malformed_lengths_say_what_is_wrong(lengths, error, message):
    with np.errstate(over="ignore"), pytest.raises(error, match=message):
        LoDTensor(np.arange(6), lengths)


@pytest.mark.parametrize(
    ("lod", "message"),
    [
        ([[0, 5, 3, 6]], r"level 0 decrease at position 2: offsets\[1\]=5 > offsets\[2\]=3"),
        ([[1, 6]], r"level 0 start at 1; they start at 0"),
        ([[]], r"level 0 are empty"),
        ([[0, 3, 9]], r"last offset 9 .*=6 \(3 too many\)"),
        ([[0, 2, 6], [0, 3, 6]], r"last offset 6 at level 0 .* the 2 sequences of level 1.*absolute=True"),
    ],
)
def test_malformed_offsets_say_what_is_wrong(lod, message):
    with pytest.raises(LoDError, match=message):
        LoDTensor(np.arange(6), lod=lod)


def test_a_refused_change_changes_nothing(t):
    with pytest.raises(LoDError):
        t.set_recursive_sequence_lengths([[3, 1, 2]])
    with pytest.raises(LoDError):
        t.set_lod([[0, 3]])
    with pytest.raises(LoDError):
        t.set_values(np.zeros(14))
    assert t.recursive_sequence_lengths() == LENGTHS
    assert t.values.tolist() == list(range(15))
    t.set_lod([[0, 5, 15]])
    t.set_values(np.ones(15))
    assert t[0].tolist() == [1] * 5


def test_structure_without_values_takes_rows_later():
    t = LoDTensor(None, LENGTHS)
    assert (t.values, t.shape, t.dtype, t.device, len(t)) == (None, (15,), None, "cpu", 3)
    assert t.has_valid_recursive_sequence_lengths()
    assert t.slice(2).lod() == [[0, 2], [0, 2, 5]]
    with pytest.raises(LoDError, match="structure without values"):
        t.sequences()
    with pytest.raises(LoDError, match="too many"):
        t.set_values(np.zeros(14))
    t.set_values(np.arange(15))
    assert t[0, 2].tolist() == [5, 6, 7, 8]
    with pytest.raises(TypeError, match="needs lengths"):
        LoDTensor(None)


def test_offsets_are_copied_and_read_only_and_values_shared():
    values, offsets = np.zeros(3), np.array([0, 1, 3])
    t = LoDTensor(values, lod=[offsets])
    offsets[1] = 2
    values[0] = 7
    assert t.lod() == [[0, 1, 3]]
    assert t.values is values
    for array in (t.offsets(), t.row_offsets(), t.append_level().row_offsets(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_values_are_arrays_or_lists_and_nothing_else():
    class Foreign:
        """An array of a library that lodkit does not know."""

        shape = (3,)

    with pytest.raises(TypeError, match="got Foreign; pass a NumPy array"):
        LoDTensor(Foreign(), [[1, 2]])
    with pytest.raises(TypeError, match="not both"):
        LoDTensor([1], [[1]], lod=[[0, 1]])
    with pytest.raises(ValueError, match="at least one dimension"):
        LoDTensor(np.array(3))


def test_import_needs_no_numba():
    code = "import sys, lodkit; repr(lodkit.LoDTensor([1])); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_view_of_the_structure(t):
    assert t.lengths(0).tolist() == [3, 1, 2]
    assert t.lengths(0, absolute=True).tolist() == [9, 1, 5]
    assert t.offsets(0).tolist() == [0, 3, 4, 6]
    assert t.offsets(0, absolute=True).tolist() == [0, 9, 10, 15]
    assert t.segment_ids().tolist() == [0] * 3 + [1] * 2 + [2] * 4 + [3] + [4] * 2 + [5] * 3
    assert t.segment_ids(0).tolist() == [0] * 9 + [1] + [2] * 5
    assert (t.max_length(), t.max_length(0)) == (4, 3)
    assert t.padding_waste() == 1 - 15 / 36
    assert t.nbytes == 15 * 8 + (4 + 7) * 8
    assert (len(t), t.shape, t.device) == (3, (15,), "cpu")
    for level in (2, -3):
        with pytest.raises(LoDLevelError, match=f"level {level} does not exist: the tensor has lod_level 2"):
            t.lengths(level)


def test_slices_of_four_levels(deep):
    assert deep.offsets(0, absolute=True).tolist() == [0, 0, 6, 10]
    assert deep.slice(1).lod() == [[0, 3], [0, 2, 2, 3], [0, 0, 3, 4], [0, 2, 2, 5, 6]]
    inner = deep.slice(1, 2, 0, 0)
    assert (inner.lod(), inner.offsets(absolute=True).tolist()) == ([[0, 1]], [5, 6])
    assert inner.values.tolist() == [[10, 11]]
    assert deep.slice(2).slice(0, 0, 1).offsets(absolute=True).tolist() == [6, 10]
    assert deep.slice(2, 0, 1).equals(deep.slice(2).slice(0, 0, 1))
    assert deep.slice(0).lod() == [[0, 0], [0], [0], [0]]
    assert deep[1, 0].lod() == [[0, 0, 3], [0, 2, 2, 5]]
    assert deep[1, 0, 1].lod() == [[0, 2, 2, 5]]
    assert deep[1, 0, 1, 2].tolist() == [[4, 5], [6, 7], [8, 9]]
    assert deep[1, 0, 1, 2, 0, 1] == 5
    for branch in [(3,), (0, 0), (1, 3), (1, 1, 0), (1, 0, 0, 0), (2, 0, 0, 0)]:
        with pytest.raises(IndexError, match="out of range"):
            deep.slice(*branch)
    for branch in [(), (1, 0, 1, 2, 0)]:
        with pytest.raises(LoDLevelError, match="1 to lod_level = 4; got"):
            deep.slice(*branch)


def test_slices_are_views(t):
    t.slice(2).values[0] = -1
    t[0, 1][0] = -2
    t[1:].values[-1] = -3
    assert t.values[[10, 3, 14]].tolist() == [-1, -2, -3]


def test_indexing(t):
    assert t[-1].equals(t[2])
    assert t[2].lod() == [[0, 2, 5]]
    assert t[np.int32(1), 0].tolist() == [9]
    assert t[0, 1:].lod() == [[0, 2, 6]]
    assert t[0, 2, 1:3].tolist() == [6, 7]
    assert t[(1,)].equals(t[1])
    assert [s.lod_level for s in t] == [1, 1, 1]
    assert [s.tolist() for s in t.sequences()][2] == [5, 6, 7, 8]
    assert t[1:].offsets(0, absolute=True).tolist() == [9, 10, 15]
    assert t[::-2].recursive_sequence_lengths() == [[2, 3], [2, 3, 3, 2, 4]]
    assert t[:: 2**63].equals(t[:1])
    assert t[5:].recursive_sequence_lengths() == [[], []]
    with pytest.raises(IndexError, match=r"sequence index 7 is out of range for 3 sequences \(level 0\)"):
        t[7]
    with pytest.raises(IndexError, match="integers come first"):
        t[:, 0]
    with pytest.raises(TypeError, match="mask"):
        t[True]


def test_selecting_by_numbers_and_mask(deep):
    picked = deep[[2, -1, 0, 1]]
    assert picked.to_list() == [deep.to_list()[i] for i in (2, 2, 0, 1)]
    assert deep[np.array([False, True, True])].equals(deep[1:])
    assert len(deep[[]]) == 0
    with pytest.raises(IndexError, match="boolean mask has 2 entries for 3 sequences"):
        deep[[True, False]]
    with pytest.raises(IndexError, match="index 3 at position 1"):
        deep[[0, 3]]
    with pytest.raises(TypeError, match="float64"):
        deep[[0.5]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128", "bool", "int8", ">i4"])
@pytest.mark.parametrize("item", [(), (3,), (2, 3), (0,)])
def test_selecting_keeps_any_type_and_layout(dtype, item):
    values = np.arange(12 * int(np.prod(item))).reshape(12, *item).astype(dtype)[::-2]
    picked = LoDTensor(values, [[1, 0, 3, 2]])[[3, 2]]
    assert picked.dtype == dtype
    assert np.array_equal(picked.values, values[[4, 5, 1, 2, 3]])


def test_equality_is_by_content(t):
    u = copy.deepcopy(t)
    assert t.equals(u)
    assert t.same_lod(u)
    assert not t.equals(t.with_values(np.zeros(15)))
    assert not t.equals(LoDTensor(t.values, LENGTHS[1:]))
    assert not t.equals(t.values)
    nan = LoDTensor([np.nan, 1], [[2]])
    assert nan.equals(copy.deepcopy(nan))
    assert not LoDTensor([1, 2], [[2, 0]]).equals(LoDTensor([1, 2], [[2]]))


def test_comparison_is_elementwise(t):
    assert (t == t).equals(t.with_values(np.ones(15, bool)))
    assert (t == 3).values.sum() == 1
    assert (np.int64(3) == t).values.sum() == 1
    assert (t != t.values).values.sum() == 0
    assert (t.values == t).values.all()
    assert (t == None) is False  # noqa: E711 - like any object
    with pytest.raises(LoDMismatchError, match="level 1; first difference at sequence 1: 2 vs 1"):
        t == LoDTensor(t.values, [[3, 1, 2], [3, 1, 5, 1, 2, 3]])  # noqa: B015
    with pytest.raises(LoDMismatchError, match="lod_level 2 against 1"):
        t == LoDTensor(t.values, [[15]])  # noqa: B015
    with pytest.raises(ValueError, match="does not broadcast"):
        t == np.zeros((15, 1))  # noqa: B015


def test_what_a_lod_tensor_refuses(t):
    with pytest.raises(ValueError, match="truth value"):
        bool(t)
    with pytest.raises(TypeError, match="unhashable"):
        hash(t)
    with pytest.raises(TypeError, match=r"\.values"):
        np.asarray(t)
    with pytest.raises(TypeError, match="sequence_pool"):
        np.sum(t)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle_and_copy(deep, protocol):
    for x in (deep, deep.slice(1, 0), LoDTensor(np.arange(3.0)), LoDTensor(None, LENGTHS)):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert y.same_lod(x)
        assert x.values is y.values is None or y.equals(x)
        assert not any(offsets.flags.writeable for offsets in y._lod)
    assert copy.copy(deep).values is deep.values
    assert copy.deepcopy(deep).values is not deep.values
    cut = pickle.loads(pickle.dumps(deep.slice(2)))
    assert np.array_equal(cut.offsets(absolute=True), deep.slice(2).offsets(absolute=True))


def test_with_values_checks_rows(t):
    assert t.with_values(np.zeros((15, 3))).lod() == t.lod()
    assert t.with_values([0] * 15).same_lod(t)
    with pytest.raises(LoDError, match="1 too few"):
        t.with_values(np.zeros(16))


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: LoDTensor.from_offsets([1, 2, 3], [0, 2]), "append 3"),
        (lambda: LoDTensor.from_offsets([1, 2, 3], [0, 2], [0, 1, 2], absolute=True), "append 3"),
        (lambda: LoDTensor([1, 2, 3], [[3]]).set_lod([[0, 2]]), "append 3"),
        (lambda: LoDTensor([1, 2, 3], lod=[[0, 5]]), "the last must be 3"),
    ],
)
def test_offsets_that_do_not_end_with_the_rows(call, remedy):
    with pytest.raises(LoDError, match=rf"\); offsets end with the number of rows: {remedy}$"):
        call()
