"""Structures with arrays that were resized, arguments of wrong types and sizes that no memory holds."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import lodkit
from lodkit import DTypeError, LoDError, LoDTensor, RowIndexError, SelectedRows, ShapeMismatchError, SizeError

T = LoDTensor(np.arange(6.0), [[2, 1], [3, 1, 2]])
ROWS = SelectedRows([4, 1], np.ones((2, 2)), 6)
EMPTY = np.zeros((2**61, 0), np.float16)
GIANT = LoDTensor(EMPTY, [[2**61]])


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t[[1, 0]],
        lambda t: t[np.array([1])],
        lambda t: t[[True, False]],
        lambda t: t[0],
        lambda t: t[0, 0],
        lambda t: t[0:1],
        lambda t: t[::-1],
        lambda t: t.slice(0),
        lambda t: t.slice_in_level(1, 0, 1),
        lambda t: t.sequences(),
        lambda t: t.to_padded(),
        lambda t: t.to_list(),
        lambda t: t.append_level([1, 1, 1]),
        lambda t: t.__arrow_c_array__(),
        pickle.dumps,
        lambda t: t + 1,
        lambda t: lodkit.concat([t, t]),
        lambda t: list(lodkit.batches(t, size=2, seed=0)),
    ],
)
@pytest.mark.parametrize("rows", [3, 9])
def test_values_that_were_resized(call, rows):
    values = np.arange(6.0)
    t = LoDTensor(values, [[2, 1], [3, 1, 2]])
    values.resize(rows, refcheck=False)
    with pytest.raises(LoDError, match=f"was cut into 6 rows, its values have {rows} now"):
        call(t)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.merge(),
        lambda s: s.norm(),
        lambda s: s.clip_by_norm(1.0),
        lambda s: s.to_dense(),
        lambda s: s * 2,
        lambda s: s / 2,
        lambda s: -s,
        lambda s: s + s,
        lambda s: s.split([3, 3]),
        pickle.dumps,
    ],
)
@pytest.mark.parametrize("rows", [[1, 4, 5], [4, 1, 4]])
@pytest.mark.parametrize("count", [2, 9])
def test_a_value_that_was_resized(call, rows, count):
    value = np.ones((3, 2))
    s = SelectedRows(rows, value, 6)
    if rows == sorted(rows):
        s = SelectedRows._wrap(s._rows, value, 6, merged=True)
    value.resize((count, 2), refcheck=False)
    with pytest.raises(LoDError, match=f"lists 3 rows, its value has {count} now"):
        call(s)


@pytest.mark.parametrize("index", [[0], [-1, 0], slice(None, None, -1), np.array([True, False, True])])
@pytest.mark.parametrize("rows", [3, 9])
def test_sequences_that_are_taken_of_values_that_were_resized(index, rows):
    values = np.arange(6.0)
    t = LoDTensor(values, [[3, 1, 2]])
    values.resize(rows, refcheck=False)
    with pytest.raises(LoDError, match=f"was cut into 6 rows, its values have {rows} now"):
        t[index]


@pytest.mark.parametrize("level", [1.5, -1.0, "0", None, (), [0], np.array([0, 1])])
@pytest.mark.parametrize(
    "method", ["offsets", "lengths", "row_offsets", "segment_ids", "max_length", "sequences", "drop_level"]
)
def test_levels_are_integers(method, level):
    if method == "drop_level" and level is None:
        return
    with pytest.raises(TypeError, match=rf"^level must be an integer, got {re.escape(repr(level))}"):
        getattr(T, method)(level)


@pytest.mark.parametrize("level", [2**63, -(10**20), 10**20])
def test_levels_of_any_size(level):
    with pytest.raises(LoDError, match=f"level {level} does not exist"):
        T.lengths(level)


@pytest.mark.parametrize("height", [None, 1.5, "6", [6]])
def test_heights_are_integers(height):
    with pytest.raises(TypeError, match=rf"^height must be an integer, got {re.escape(repr(height))}"):
        SelectedRows([1], np.ones((1, 2)), height)


@pytest.mark.parametrize("sections", [None, ROWS, 6, [1.5, 4.5], [{}], "abc", [10**20]])
def test_sections_are_integers(sections):
    with pytest.raises((TypeError, LoDError), match="height"):
        ROWS.split(sections)
    with pytest.raises((TypeError, LoDError), match="height_sections"):
        lodkit.split_selected_rows(ROWS, height_sections=sections)


@pytest.mark.parametrize("most", [None, "1", range(3), ROWS, np.ones(2)])
def test_norms_are_numbers(most):
    with pytest.raises(TypeError, match=r"^max_norm must be a number >= 0, got "):
        ROWS.clip_by_norm(most)


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (slice("a", None), TypeError),
        (slice(0, None, 1.5), TypeError),
        (slice(0, None, 0), ValueError),
        ([1, [2]], LoDError),
        ((0, 2**63), IndexError),
        ((0, [1, [2]]), LoDError),
        ((0, 0, "a"), IndexError),
        ((0, 0, 2**63 - 1), IndexError),
        (([1, [2]], 1), IndexError),
        ([2**62], RowIndexError),
    ],
)
def test_indices_that_are_none(index, kind):
    with pytest.raises(kind, match=r"\b(index|indices)\b"):
        T[index]


@pytest.mark.parametrize("step", [2**63, -(2**63), 10**20, 2, -1])
def test_steps_of_any_size(step):
    assert T[::step].to_list() == T.to_list()[::step]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (GIANT.segment_ids, "2305843009213693952 rows"),
        (GIANT.to_list, "self of shape (2305843009213693952, 0)"),
        (lambda: LoDTensor.from_uniform(EMPTY), "values of shape (2305843009213693952, 0)"),
        (lambda: LoDTensor.from_segment_ids([1.0], [2**62]), "ids = [4611686018427387904]"),
        (lambda: LoDTensor.from_segment_ids([1.0], [0], 2**62), "num_segments = 4611686018427387904"),
        (lambda: lodkit.concat([GIANT, GIANT]), "arrays[1] of shape (2305843009213693952, 0)"),
        (lambda: LoDTensor.from_sequences([EMPTY, EMPTY]), "arrays[0] of shape (2305843009213693952, 0)"),
        (lambda: LoDTensor(EMPTY).append_level(), "self of shape (2305843009213693952, 0)"),
    ],
)
def test_sizes_that_no_memory_holds(call, named):
    with pytest.raises(SizeError, match=re.escape(named)):
        call()


def test_giants_beside_a_table():
    x, table = LoDTensor(EMPTY, [[1], [2**61]]), lodkit.lod_rank_table(LoDTensor(np.zeros(6), [[2, 1, 3]]))
    with pytest.raises(SizeError, match="x of 2305843009213693952 rows"):
        lodkit.shrink_rnn_memory(x, table, step=2)


def test_sums_of_rows_that_do_not_fit():
    with pytest.raises(LoDError, match="the rows of all sequences add up to 9223372036854775808"):
        LoDTensor.from_sequences([EMPTY] * 4)


def test_sequences_that_have_no_rows():
    for call in (lambda: LoDTensor.from_sequences(3), lambda: lodkit.concat(3)):
        with pytest.raises(TypeError, match=r"a list of .*, got int"):
            call()
    for sequence in (np.array(1.0), 1.0, None):
        with pytest.raises((TypeError, LoDError), match=r"sequences\[1\]"):
            LoDTensor.from_sequences([np.ones(2), sequence])
    with pytest.raises(LoDError, match=r"sequences\[0\] = .* is a list of uneven lists"):
        LoDTensor.from_sequences([[1, [2]], [1]])
    with pytest.raises(DTypeError, match=r"types datetime64\[D\], float64 have no type in common"):
        LoDTensor.from_sequences([np.ones(2), np.zeros(1, "M8[D]")])


def test_views_of_giants_for_notebooks():
    assert str(2**61) in GIANT._repr_html_()
    assert str(2**61) in LoDTensor(EMPTY, [[1], [2**61]])._repr_html_()


def test_giants_on_a_tape():
    x, small = np.broadcast_to(np.zeros(()), (2**58, 3)), np.ones((2, 3))
    with lodkit.Tape() as tape, pytest.raises(SizeError):
        lodkit.relu(tape.watch(x))
    with lodkit.Tape() as tape:
        out = lodkit.relu(tape.watch(small))
    with pytest.raises(ValueError, match=r"output gradient of shape \(2305843009213693952, 0\)"):
        tape.gradient(out, [small], EMPTY)


def test_lengths_that_are_repeated():
    lengths = np.broadcast_to(np.int64(0), (2**59,))
    assert lodkit.sequence_mask(lengths[:3]).shape == (3, 0)
    with pytest.raises((SizeError, LoDError)):  # at once: one length is looked at
        lodkit.sequence_mask(lengths)
    with pytest.raises(LoDError, match=r"lengths\[0, 1\] = -1 is negative"):
        lodkit.sequence_mask(np.broadcast_to([0, -1], (2**58, 2)))


def test_maxima_of_no_columns():
    x = LoDTensor(np.zeros((2**60, 0), np.float16), [[2**60]])  # a loop over the rows would take years
    assert lodkit.sequence_pool(x, pool="max", return_index=True)[1].shape == (1, 0)


def test_strides_of_windows():
    with pytest.raises(ValueError, match="strides must be 2 integers of at least 1, which 64 bits hold"):
        lodkit.im2sequence(np.ones((1, 1, 3, 3)), kernels=(2, 2), strides=(1, 10**20))


def test_slots_of_paddle():
    table = lodkit.lod_rank_table(T)
    with pytest.raises(lodkit.paddle.SlotError, match="I must be one integer, got RankTable"):
        lodkit.paddle.run_op("shrink_rnn_memory", {"X": np.ones((2, 1)), "RankTable": table, "I": table}, {})
    one = np.ones((2, 2))
    moments = {"Param": one, "Grad": one, "Moment": one.copy(), "InfNorm": one.copy(), "LearningRate": np.ones(1)}
    with pytest.raises(ShapeMismatchError, match="a power of beta must be one number"):
        lodkit.paddle.run_op("adamax", {**moments, "Beta1Pow": np.zeros(0)}, {})
    ids = np.zeros((1, 1), np.int64)
    with pytest.raises(lodkit.paddle.SlotError, match="Rows has 2 variables, X has 1"):
        lodkit.paddle.run_op("merge_ids", {"Ids": [ids], "Rows": [ids, ids], "X": [np.ones((1, 2))]}, {})
    words = LoDTensor(np.array([[1], [2]]), [[1, 1]])
    with pytest.raises(lodkit.NoKernelError, match="edit_distance has no cpu kernel for ref=Dense"):
        lodkit.paddle.run_op("edit_distance", {"Hyps": words, "Refs": words.values}, {"normalized": True})


@pytest.mark.parametrize(("now", "last"), [(-(2**63), 5), (2**63 - 1, -(2**63)), (5, 2**63 - 1), (-(2**63), 2**63 - 1)])
def test_iterations_far_apart(now, last):
    iterations, counts = lodkit.rowwise_counter(np.array([last]), np.ones(1), [0], iteration=now, halflife=2.0)
    assert iterations[0] == max(now, last)
    assert counts[0] == (1 if now > last else 2)


def test_a_gradient_without_items():
    with pytest.raises(
        ShapeMismatchError, match=r"^output_grad must have 2 items, one per id of mask, for each segment"
    ):
        lodkit.caffe2.SparseToDenseMaskGradient([7, 4], np.ones(2), [1, 1], mask=[4, 7])


def test_reversed_rows_that_no_memory_numbers():
    rows = LoDTensor(np.zeros((2**61, 0), np.float16), [])
    with pytest.raises(
        lodkit.SizeError, match=r"no memory for the numbers of the sequences that t\[slice\(None, None, -1"
    ):
        rows[::-1]


def test_levels_without_numbers_in_an_array_without_end():
    with pytest.raises(LoDError, match=r"recursive_sequence_lengths has shape \(1152921504606846976, 0\)"):
        LoDTensor(np.ones((0, 1)), np.zeros((2**60, 0), np.int8))
    assert LoDTensor(np.ones((0, 1)), np.zeros((2, 0), np.int8)).recursive_sequence_lengths() == [[], []]
