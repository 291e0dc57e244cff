"""Ranges of sequences, parts by number and in the order of keys: NumPy's conventions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDMismatchError, LoDTensor, RowIndexError, ShapeMismatchError
from lodkit.paddle import run_op

X = LoDTensor(np.arange(6.0), [[3, 1, 2]])
NESTED = LoDTensor(np.arange(9.0), [[2, 3, 0], [2, 1, 3, 0, 3]])
BOUNDS = (*range(-5, 6), None, np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@pytest.mark.parametrize("start", BOUNDS)
def test_clipped_ranges_are_slices_of_numpy(start):
    for stop in BOUNDS:
        out = lodkit.sequence_slice(X, start, stop, clip=True)
        assert out.to_list() == [s[start:stop].tolist() for s in X]


@pytest.mark.parametrize("start", [b for b in BOUNDS if b is not None])
def test_ranges_outside_are_refused_unless_clipped(start):
    inside = all(-len(s) <= start <= len(s) for s in X)
    if inside:
        assert lodkit.sequence_slice(X, start).to_list() == [s[start:].tolist() for s in X]
    else:
        with pytest.raises(RowIndexError, match=rf"\[{start}:\] is not inside sequence .*clip=True"):
            lodkit.sequence_slice(X, start)


def test_lengths_of_ranges():
    assert lodkit.sequence_slice(X, -1, 1, by="lengths").to_list() == [[2], [3], [5]]
    huge = np.iinfo(np.int64).max
    assert lodkit.sequence_slice(X, 1, huge, by="lengths", clip=True).to_list() == [[1, 2], [], [5]]
    with pytest.raises(RowIndexError, match=r"start 1 and length \d+ is not inside sequence 0, which has 3 parts"):
        lodkit.sequence_slice(X, 1, huge, by="lengths")
    with pytest.raises(lodkit.LoDError, match="the length -1 for sequence 1 is negative"):
        lodkit.sequence_slice(X, 0, [1, -1, 1], by="lengths", clip=True)


def test_ranges_of_an_outer_level_are_of_whole_sequences():
    assert lodkit.sequence_slice(NESTED, [-1, 1, 0], level=0).to_list() == [[[2]], [[], [6, 7, 8]], []]


def test_overlapping_ranges_add_up():
    starts, stops = LoDTensor([0, 1, 0], [[2, 0, 1]]), LoDTensor([2, 3, 2], [[2, 0, 1]])
    with lodkit.Tape() as tape:
        out = lodkit.sequence_slice(X, starts, stops)
    assert out.to_list() == [[[0, 1], [1, 2]], [], [[4, 5]]]
    assert tape.gradient(out, [X])[0].values.tolist() == [1, 2, 1, 0, 1, 1]


def test_one_stop_for_all_ranges_of_a_sequence():
    starts = LoDTensor([0, 1, -1], [[2, 0, 1]])
    assert lodkit.sequence_slice(X, starts, [2, 0, 2]).to_list() == [[[0, 1], [1]], [], [[5]]]
    assert lodkit.sequence_slice(X, None, starts).to_list() == [[[], [0]], [], [[4]]]


def test_paddle_takes_no_negative_offsets():
    offset, length = np.array([[0], [0], [-1]]), np.array([[1], [0], [1]])
    with pytest.raises(RowIndexError, match="sequence 2, which has 2 parts, where negative numbers do not count"):
        run_op("sequence_slice", {"X": X, "Offset": offset, "Length": length})
    with pytest.raises(RowIndexError, match="start 0 and length 2 is not inside sequence 1"):
        run_op("sequence_slice", {"X": X, "Offset": offset * 0, "Length": length * 0 + 2})


def test_ranges_that_do_not_fit_are_refused():
    with pytest.raises(ShapeMismatchError, match=r"starts has shape \(2,\); give 3 numbers, one each"):
        lodkit.sequence_slice(X, [0, 0])
    with pytest.raises(LoDMismatchError, match="stops has lod_level 1 and 2 lists"):
        lodkit.sequence_slice(X, None, LoDTensor([1], [[1, 0]]))
    with pytest.raises(LoDMismatchError, match="different numbers of ranges"):
        lodkit.sequence_slice(X, LoDTensor([0], [[1, 0, 0]]), LoDTensor([0], [[0, 1, 0]]))
    with pytest.raises(ShapeMismatchError, match=r"starts has shape \(1, 1\); give 1 numbers"):
        lodkit.sequence_slice(X, LoDTensor([[0]], [[1, 0, 0]]))
    with pytest.raises(lodkit.DTypeError, match="starts must be integers"):
        lodkit.sequence_slice(X, 0.5)


def test_selected_parts_in_the_order_given():
    """SubNestedSequenceLayer of Paddle's second version: some sentences of each article."""
    out = lodkit.sequence_select(NESTED, LoDTensor([1, 2, 0, 0], [[1, 3, 0]]))
    assert out.to_list() == [[[2]], [[6, 7, 8], [3, 4, 5], [3, 4, 5]], []]


def test_a_part_that_is_not_there_is_refused_by_place():
    for number in (3, -1):
        with pytest.raises(RowIndexError, match=rf"selected\[1\]\[2\] = {number} is outside \[0, 3\), sequence 1 of"):
            lodkit.sequence_select(NESTED, LoDTensor([1, 2, 0, number], [[1, 3, 0]]))
    with pytest.raises(LoDMismatchError, match="selected has 2 lists, level 0 of x 3 sequences"):
        lodkit.sequence_select(NESTED, LoDTensor([0, 0], [[1, 1]]))
    with pytest.raises(lodkit.LoDLevelError, match="attach lengths"):
        lodkit.sequence_select(NESTED, LoDTensor([0, 0, 0]))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("keys", [[2, 1, 2], [-(1 << 63), (1 << 63) - 1, 0], [np.nan, -np.inf, np.inf], [1, 0, 1]])
def test_sorts_are_stable_with_nan_last(keys, descending):
    keys = np.array(keys)
    order = sorted(range(3), key=lambda i: (keys[i] != keys[i], -float(keys[i]) if descending else keys[i]))
    assert lodkit.sequence_sort(X, keys, descending=descending).equals(X[np.array(order)])


def test_parts_are_sorted_inside_their_sequences():
    out = lodkit.sequence_sort(NESTED, [1, 0, 2, 2, 1], level=0, descending=True)
    assert out.to_list() == [[[0, 1], [2]], [[3, 4, 5], [], [6, 7, 8]], []]
    same = lodkit.LoDTensor([1, 0, 2, 2, 1], NESTED.recursive_sequence_lengths()[:1])
    assert lodkit.sequence_sort(NESTED, same, level=0, descending=True).equals(out)
    for call in (lodkit.sequence_sort, lodkit.sequence_sort.definition):
        with pytest.raises(lodkit.LoDMismatchError, match=r"keys have lengths \[5\], the sequences of x \["):
            call(NESTED, lodkit.LoDTensor([1, 0, 2, 2, 1], [[5]]), level=0)
    with pytest.raises(ShapeMismatchError, match=r"keys have shape \(3,\), there are 5 to sort"):
        lodkit.sequence_sort(NESTED, [1, 2, 3], level=0)
    with pytest.raises(lodkit.DTypeError, match="keys must be numbers"):
        lodkit.sequence_sort(X, np.array(["a", "b", "c"]))


def test_nothing_is_written_before_a_refusal():
    out = np.full(3, -1.0)
    with pytest.raises(RowIndexError):
        lodkit.sequence_slice(X, [0, 0, 2], [1, 1, 3], out=out)
    assert (out == -1).all()


def test_moves_of_many_rows_are_those_of_few():
    rng = np.random.default_rng(0)
    x = LoDTensor(rng.normal(size=(20_000, 3)), [rng.multinomial(20_000, np.full(500, 1 / 500))])
    order = rng.permutation(500)
    moved = lodkit.sequence_sort(x, np.argsort(order))
    assert moved.equals(x[order])
    back = lodkit.sequence_sort_grad(x, np.argsort(order), moved.values)
    np.testing.assert_array_equal(back, x.values)


@pytest.mark.parametrize("keys", [[3, 1, 2], lodkit.LoDTensor([3, 1, 2], [[2, 1]])])
def test_rows_without_levels_are_sorted_and_their_gradient_put_back(keys):
    x = lodkit.LoDTensor(np.arange(3.0))
    with lodkit.Tape() as tape:
        y = lodkit.sequence_sort(x, keys)
    np.testing.assert_array_equal(y.values, [1, 2, 0])
    gradient = tape.gradient(y, [x], output_gradients=np.array([1.0, 2.0, 4.0]))[0]
    np.testing.assert_array_equal(getattr(gradient, "values", gradient), [4, 1, 2])
