"""Rank tables and arrays of tensors: round trips at every level, what a tape sees of them, and refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lodkit
from lodkit import LoDTensor
from lodkit.paddle import run_op

X = LoDTensor(np.arange(6.0), [[2, 1, 3]])
STRUCTURE = {n: LoDTensor(np.zeros((sum(n), 1)), [list(n)]) for n in ((0,), (1, 2, 1), (1,) * 30)}
NESTED = LoDTensor(np.arange(10.0), [[2, 0, 1], [4, 0, 6]])
TABLE = lodkit.lod_rank_table(X)


@st.composite
def ragged(draw):
    lengths = [draw(st.lists(st.integers(0, 4), max_size=5))]
    for _ in range(draw(st.integers(0, 2))):
        count = sum(lengths[-1])
        lengths.append(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    return LoDTensor(np.arange(2.0 * sum(lengths[-1])).reshape(-1, 2), lengths), draw(st.integers(0, len(lengths) - 1))


@settings(max_examples=80, deadline=None)
@given(ragged(), st.booleans())
def test_taken_apart_and_put_together(batch, reverse):
    x, level = batch
    table = lodkit.lod_rank_table(x, level=level)
    lengths = x.lengths(level)
    assert table.items == sorted(enumerate(lengths.tolist()), key=lambda item: -item[1])
    assert table.running.tolist() == [(lengths > t).sum() for t in range(max(lengths, default=0))]
    steps = lodkit.lod_tensor_to_array(x, table, reverse=reverse)
    assert len(steps) == max(1, *lodkit.max_sequence_len(table))
    for t, element in enumerate(steps):
        for r, s in enumerate(table.index[: len(element)]):
            sequence = x.slice_in_level(level, s, s + 1)[0]
            part = sequence[len(sequence) - 1 - t if reverse else t]
            found = element[int(r)]
            assert found.equals(part) if isinstance(part, LoDTensor) else np.array_equal(found, part)
    assert lodkit.array_to_lod_tensor(table, *steps, reverse=reverse).equals(x)


@settings(max_examples=30, deadline=None)
@given(ragged())
def test_an_order_and_back(batch):
    x, _ = batch
    table = lodkit.lod_rank_table(x)
    ranked = lodkit.reorder_lod_tensor_by_rank(x, table)
    assert ranked.equals(x[table.index]) and (np.diff(ranked.lengths(0)) <= 0).all()
    assert lodkit.reorder_lod_tensor_by_rank(ranked, table, inverse=True).equals(x)


def test_a_table_is_a_value():
    table = lodkit.lod_rank_table(NESTED, level=1)
    for again in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
        assert (again.items, again.lod(), again.level) == ([(2, 6), (0, 4), (1, 0)], [[0, 2, 2, 3], [0, 4, 4, 10]], 1)
    assert lodkit.RankTable([[0, 2, 3, 6]]).items == TABLE.items
    with pytest.raises(lodkit.LoDError, match="decrease at position 2"):
        lodkit.RankTable([[0, 2, 1]])
    with pytest.raises(lodkit.LoDLevelError, match="at least one level"):
        lodkit.RankTable([])
    assert repr(TABLE) == "RankTable([(2, 3), (0, 2), (1, 1)], level=0)"
    assert repr(lodkit.lod_rank_table(STRUCTURE[(1,) * 30])).endswith("(7, 1), ... 30 in all], level=0)")
    assert len(TABLE) == 3 and TABLE.length.tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="read-only"):
        TABLE.index[0] = 1
    with pytest.raises(AttributeError):
        TABLE.running = None


def test_a_table_goes_with_other_tensors_of_its_lengths():
    letters = LoDTensor(np.arange(7), [[2, 1, 3], [1, 0, 2, 1, 3, 0]])
    assert [e.to_list() for e in lodkit.lod_tensor_to_array(letters, TABLE)] == [
        [[3], [0], [1, 2]],
        [[4, 5, 6], []],
        [[]],
    ]


def test_elements_are_the_variables_that_were_put_in():
    first, second = lodkit.parameter(np.ones(2)), lodkit.parameter(np.full(2, 3.0))
    with lodkit.Tape() as tape:
        array = lodkit.write_to_array(lodkit.square(second), first, index=1)
        array = lodkit.write_to_array(np.exp(array[1] * 0), *array, index=2)
        loss = lodkit.read_from_array(*array, index=1) * lodkit.read_from_array(*array, index=0)
    assert lodkit.lod_array_length(*array).tolist() == [3]
    np.testing.assert_array_equal(tape.gradient(loss, [first, second]), [[9, 9], [6, 6]])
    assert lodkit.read_from_array(first, second, index=1) is second


def test_what_comes_back_is_recorded():
    """NumPy on an element that is the array that was put in; rows that run, of memory that is used again since."""
    first, memory = lodkit.parameter(np.ones(3)), lodkit.parameter(np.full(3, 2.0))
    with lodkit.Tape() as tape:
        element = lodkit.read_from_array(*lodkit.write_to_array(first, index=0), index=0)
        ragged = lodkit.read_from_array(LoDTensor(first, [[1, 2]]), index=0)
        loss = element * element + 3 * ragged.values
        running = lodkit.shrink_rnn_memory(memory, TABLE, step=0)
        squares = running * running
        np.asarray(memory)[...] = 9
    assert tape.gradient(loss, [first])[0].tolist() == [5, 5, 5]
    assert tape.gradient(squares, [memory])[0].tolist() == [4, 4, 4]


def test_lists_become_arrays_on_a_tape_too():
    with lodkit.Tape():
        assert isinstance(lodkit.read_from_array([1.0], [2.0], index=1), np.ndarray)


@pytest.mark.parametrize("level", [0, 1])
def test_gradients_on_both_devices(place, level):
    x = place.to(NESTED)
    table = lodkit.lod_rank_table(x, level=level)
    first = lodkit.parameter(place.to(np.arange(6.0).reshape(3, 2)))
    with lodkit.Tape() as tape:
        steps = lodkit.lod_tensor_to_array(x, table)
        back = lodkit.array_to_lod_tensor(table, *steps)
        kept = lodkit.shrink_rnn_memory(lodkit.reorder_lod_tensor_by_rank(first, table), table, step=0)
    weights = place.to(np.arange(10.0) + 1)
    np.testing.assert_array_equal(
        place.home(tape.gradient(back, [x], output_gradients=weights)[0]).values, np.arange(10.0) + 1
    )
    (by_first,) = tape.gradient(kept, [first])
    expected = np.zeros((3, 2))
    expected[table.index[: table.running[0]]] = 1
    np.testing.assert_array_equal(place.home(by_first), expected)
    (by_step,) = tape.gradient(steps[0], [x])
    assert place.home(by_step).values.sum() == place.home(steps[0] if level else steps[0].values).size


STEPS = lodkit.lod_tensor_to_array(X, TABLE)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: lodkit.lod_rank_table(X, level=1), lodkit.LoDLevelError, "level 1 does not exist"),
        (lambda: lodkit.lod_tensor_to_array(X, NESTED), lodkit.NoKernelError, "table=LoDTensor"),
        (
            lambda: lodkit.lod_tensor_to_array(X, lodkit.lod_rank_table(NESTED, level=1)),
            lodkit.LoDLevelError,
            "x has lod_level 1, the table ranks the sequences of level 1",
        ),
        (
            lambda: lodkit.lod_tensor_to_array(LoDTensor(X.values, [[1, 2, 3]]), TABLE),
            lodkit.LoDMismatchError,
            r"level 0 of x has offsets \[0, 1, 3, 6\], the table's level \[0, 2, 3, 6\]; rank x itself",
        ),
        (lambda: lodkit.array_to_lod_tensor(TABLE, *STEPS[:2]), lodkit.LoDMismatchError, "2 elements, the table 3"),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, STEPS[0], STEPS[2], STEPS[2]),
            lodkit.LoDMismatchError,
            "element 1 has 1 rows, but 2 sequences run at step 1",
        ),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, *STEPS[:2], STEPS[2].astype(np.float32)),
            lodkit.DTypeError,
            "input 2 is float32, input 0 float64",
        ),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, *STEPS[:2], STEPS[2][:, None]),
            lodkit.ShapeMismatchError,
            r"input 2 has items of shape \(1,\)",
        ),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, *STEPS[:2], LoDTensor(STEPS[2], [[1]])),
            lodkit.NoKernelError,
            r"array=Dense\|LoDTensor",
        ),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, NESTED, X, LoDTensor([1.0], [[1]])),
            lodkit.LoDLevelError,
            "element 1 has lod_level 1, element 0 2",
        ),
        (
            lambda: lodkit.array_to_lod_tensor(lodkit.lod_rank_table(STRUCTURE[0,]), *STEPS[:2]),
            lodkit.LoDMismatchError,
            "one without rows, where no sequence has any",
        ),
        (
            lambda: lodkit.reorder_lod_tensor_by_rank(np.ones(2), TABLE),
            lodkit.LoDMismatchError,
            "x has 2 rows, the table 3 sequences",
        ),
        (
            lambda: lodkit.reorder_lod_tensor_by_rank(LoDTensor(np.ones(3), [[1, 2]]), TABLE),
            lodkit.LoDMismatchError,
            "x has 2 sequences, the table 3",
        ),
        (lambda: lodkit.reorder_lod_tensor_by_rank(np.array(1.0), TABLE), lodkit.ShapeMismatchError, "no dimension"),
        (
            lambda: lodkit.shrink_rnn_memory(np.ones(1), TABLE, step=1),
            lodkit.LoDMismatchError,
            "x has 1 rows; 2 of the 3 sequences of the table run at step 1",
        ),
        (lambda: lodkit.shrink_rnn_memory(np.ones(4), TABLE, step=1), lodkit.LoDMismatchError, "x has 4 rows"),
        (lambda: lodkit.shrink_rnn_memory(np.ones(3), TABLE, step=-1), ValueError, "step must be at least 0, got -1"),
        (lambda: lodkit.write_to_array(np.ones(1), index=1), lodkit.RowIndexError, r"index 1 is outside \[0, 1\)"),
        (lambda: lodkit.read_from_array(np.ones(1), index=-1), lodkit.RowIndexError, r"index -1 is outside \[0, 1\)"),
        (lambda: lodkit.lod_array_length(), TypeError, "lacks array; call"),
        (lambda: lodkit.array_to_lod_tensor(TABLE), TypeError, "got no array"),
        (
            lambda: lodkit.array_to_lod_tensor(TABLE, STEPS[0], np.array(1.0), STEPS[2]),
            lodkit.ShapeMismatchError,
            r"array\[1\] has no dimension",
        ),
        (lambda: lodkit.lod_rank_table([1, 2]), TypeError, "x must be a LoDTensor, got list; pass LoDTensor"),
        (
            lambda: lodkit.max_sequence_len([(2, 3)]),
            TypeError,
            "table must be a RankTable, got list; pass lod_rank_tab",
        ),
        (lambda: lodkit.embedding_bag(np.ones((3, 2)), [0, 1, 2]), TypeError, "ids must be a LoDTensor, got list"),
        (lambda: lodkit.relu("a"), TypeError, r"relu: x holds text \(.a.\), and operators take numbers"),
    ],
)
def test_refusals(run, error, text):
    with pytest.raises(error, match=text):
        run()


def test_an_array_grows_by_paddles_names():
    array = []
    for i in range(3):
        array = run_op("write_to_array", {"X": np.full(2, i), "I": np.array([i]), "Out": array})["Out"]
    assert isinstance(array, list) and run_op("lod_array_length", {"X": array})["Out"].tolist() == [3]
    assert run_op("read_from_array", {"X": array, "I": np.array([1])})["Out"].tolist() == [1, 1]


def test_what_paddle_undefines_is_defined():
    x, table = LoDTensor(np.ones((2, 1)), [[0, 2, 0]]), lodkit.lod_rank_table(STRUCTURE[1, 2, 1])
    assert run_op("reorder_lod_tensor_by_rank", {"X": x, "RankTable": table})["Out"].to_list() == [[[1], [1]], [], []]
    shrunk = run_op("shrink_rnn_memory", {"X": np.ones((3, 2)), "RankTable": table, "I": np.array([5])})["Out"]
    assert shrunk.shape == (0, 2)
    empty = run_op("lod_rank_table", {"X": LoDTensor(np.ones((0, 2)), [[]])})["Out"]
    assert run_op("max_sequence_len", {"RankTable": empty})["Out"].tolist() == [0]
