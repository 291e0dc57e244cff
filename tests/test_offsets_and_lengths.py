"""The programs that compare offsets with lengths give the same, and what the review's own code gives."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import some_of

import lodkit

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "asv_benchmarks"))
from benchmarks.lod_programs import PROGRAMS, REPRESENTATIONS, Batch, prepare
from benchmarks.lod_programs.batch import PIECE

few = st.lists(st.integers(0, 4), max_size=7)


@st.composite
def batches(draw):
    lengths = [draw(few)]
    if draw(st.booleans()):
        lengths.append(draw(st.lists(st.integers(0, 4), min_size=sum(lengths[0]), max_size=sum(lengths[0]))))
    rows = np.array(draw(st.lists(st.integers(-3, 3), min_size=sum(lengths[-1]), max_size=sum(lengths[-1]))))
    numbers = st.tuples(st.integers(0, max(len(lengths[0]) - 1, 0)), st.integers(0, PIECE))
    return Batch(rows.astype(np.float32), *lengths, branches=draw(st.lists(numbers, max_size=5 if lengths[0] else 0)))


def rows_of(sequence):
    """The rows of a view of a LoDTensor over ``arange``, as start and stop; None for no rows."""
    rows = getattr(sequence, "values", sequence)
    return (int(rows[0]), int(rows[-1]) + 1) if len(rows) else None


def sliced(t, i, j):
    piece = list(t[i : i + PIECE]) if t.lod_level == 1 else list(t[i])
    return rows_of(piece[min(j, len(piece) - 1)]) if piece else None


def recurrence(parts, levels):
    """The state of one sequence: its rows, or the sums of its sequences, one a step."""
    state = np.float32(0)
    for part in parts:
        state = np.float32(0.5) * state + (part if levels == 1 else part.sum())
    return state


def expected(program, batch):
    """What a program gives, by views of a LoDTensor."""
    t = lodkit.LoDTensor(np.arange(len(batch.values)), batch.lengths)
    rows = [batch.values[getattr(s, "values", s)] for s in t.sequences(0)]
    starts = t.offsets(0, absolute=True)
    if program == "last":
        places = [stop - 1 if len(x) else -1 for x, stop in zip(rows, starts[1:], strict=True)]
        return [[x[-1] if len(x) else 0 for x in rows], places]
    if program == "max":
        places = [x.argmax() + s if len(x) else -1 for x, s in zip(rows, starts[:-1], strict=True)]
        return [[x.max() if len(x) else 0 for x in rows], places]
    if program == "in order":
        return [[batch.values[s].sum() for s in t.sequences()]]
    if program == "steps":
        tops = t.with_values(batch.values).sequences(0)
        return [[recurrence(s if batch.levels == 1 else list(s), batch.levels) for s in tops]]
    if program == "t[i]":
        return [[rows_of(t.slice(i)) for i, _ in batch.branches.tolist()]]
    branches = batch.parts if program == "all slices" else batch.branches
    return [[sliced(t, i, j) for i, j in branches.tolist()]]


def same(got, wanted):
    if got.ndim == 2:
        return [tuple(g) if g[0] < g[1] else None for g in got.tolist()] == wanted
    return np.array_equal(got, np.array(wanted, got.dtype))


@pytest.mark.parametrize("program", some_of(PROGRAMS, 3))
@settings(deadline=None, max_examples=40)
@given(batch=batches())
def test_every_representation_gives_what_the_tensor_has(program, batch):
    wanted = expected(program, batch)
    for representation, call in PROGRAMS[program](batch).items():
        for got, result in zip(call(), wanted, strict=True):
            assert same(got, result), (representation, got, result)


@pytest.mark.parametrize("program", ["last", "max"])
@pytest.mark.parametrize("levels", [1, 2])
def test_blocks_find_where_they_start(program, levels, tiny_blocks):
    rng = np.random.default_rng(0)
    lengths = [rng.integers(0, 4, 600)]
    if levels == 2:
        lengths.append(rng.integers(0, 4, lengths[0].sum()))
    batch = Batch(rng.integers(0, 9, lengths[-1].sum()).astype(np.float32), *lengths)
    for call in PROGRAMS[program](batch).values():
        assert all(map(same, call(), expected(program, batch)))


def test_what_a_representation_cannot_say_is_refused():
    batch = Batch(np.ones(15, np.float32), [3, 1, 2], [3, 2, 4, 1, 2, 3])
    assert batch.absolute.tolist() == [9, 1, 5]
    with pytest.raises(NotImplementedError, match="steps of 2 levels by absolute"):
        prepare("steps", "absolute", batch)
    assert set().union(*(PROGRAMS[p](batch) for p in PROGRAMS)) == set(REPRESENTATIONS)


def test_absolute_lengths_lose_whose_an_empty_sequence_is():
    """``2 1`` over ``2 0 1``: the empty sentence may be the first article's, or the second's."""
    one, other = (Batch(np.arange(3), outer, [2, 0, 1]) for outer in ([2, 1], [1, 2]))
    assert one.absolute.tolist() == other.absolute.tolist() == [2, 1]
    assert one.offsets[0].tolist() != other.offsets[0].tolist()


def reviewed(lengths, reverse):
    """Where the review's code by lengths looks for the last (reversed: the first) row of each sequence."""
    offset = 0
    for i, length in enumerate(lengths):
        yield length + offset if reverse else lengths[i + 1] - 1 + offset
        offset += length


def test_the_reviews_code_by_lengths_is_wrong():
    last, first = reviewed([3, 1, 2], False), list(reviewed([3, 1, 2], True))
    assert [next(last), next(last)] == [0, 4]  # rows 2 and 3 are right
    with pytest.raises(IndexError):
        next(last)  # it reads past the lengths; row 5 is right
    assert first == [3, 4, 6]  # where sequences stop, the last of them behind the batch: 0, 3, 4 are right
    _, right = prepare("last", "running", Batch(np.arange(6), [3, 1, 2]))()
    assert right.tolist() == [2, 3, 5]


def test_the_reviews_code_is_right_for_a_sequence_that_the_next_one_equals():
    last = reviewed([4, 4, 4], False)
    assert [next(last), next(last)] == [3, 7]
    with pytest.raises(IndexError):
        next(last)


@pytest.mark.parametrize(("sequences", "launches"), [(1536, 1), (1537, 2)])
def test_a_gpu_makes_offsets_of_lengths_in_so_many_launches(sequences, launches, emulated_gpu):
    from lodkit.arrays.cuda import launcher, memory
    from lodkit.kernels.cuda.primitives.scan import offsets_of

    made = offsets_of(memory.view(emulated_gpu.to_gpu(np.ones(sequences, np.int64))))
    assert np.array_equal(made.read(), np.arange(sequences + 1))
    assert launcher.runner.launches == launches
