"""Arrays of a table, and dealings, that somebody changes between two calls: refused on every rank, before anything."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit.distributed import Checkpoint, Ranges, RankError, ShardedTable, run_threads

HEIGHT, FEW = 40, 2


def run(change, when, pool=None, ranks=2, **options):
    """Look up and update, with a change of the table at rank 0 in between. Returns what each rank raised, the memory of
    its arrays, and how many updates it has done.
    """
    memory, errors, done = np.zeros((ranks, HEIGHT, 4), np.float32), [None] * ranks, [None] * ranks

    def job(engine):
        rank = engine.rank
        table = ShardedTable(HEIGHT, 4, engine, init=0.0, lr=1.0, **options)
        ids = lodkit.LoDTensor((np.arange(20) + 20 * (rank == 0)) % HEIGHT, [[10, 10]])
        try:
            batch = table.start(ids.values if pool is None else ids, pool=pool)
            if when == "wait" and rank == 0:
                change(table, memory[rank])
            result = batch.wait()
            if when == "update" and rank == 0:
                change(table, memory[rank])
            table.update(np.ones_like(result))
        except lodkit.LodkitError as error:
            errors[rank] = error
        done[rank] = table.iteration

    run_threads(ranks, job)
    return errors, memory, done


def few_rows(table, memory):
    table.values = memory[:FEW]


@pytest.mark.parametrize("when", ["wait", "update"])
@pytest.mark.parametrize("rule", ["sgd", "adagrad"])
@pytest.mark.parametrize(
    ("pool", "exchange"), [(None, "rows"), ("sum", "rows"), ("max", "rows"), ("sum", "partial")], ids=str
)
def test_values_of_fewer_rows_are_refused_on_all_ranks(pool, exchange, rule, when):
    errors, memory, done = run(few_rows, when, pool, rule=rule, exchange=exchange)
    assert isinstance(errors[0], lodkit.ShapeMismatchError), errors
    assert str(errors[0]) == (
        "table.values is float32 of shape (2, 4), replaced or resized since the table was made; assign an array of "
        "float32 and shape (20, 4), for the rows of this rank"
    )
    assert isinstance(errors[1], RankError)
    assert str(errors[1]).startswith("rank 0 raised ShapeMismatchError: table.values is float32")
    assert not memory.any()
    assert done == [0, 0]


def other_states(table, memory):
    table.states = {"moment2": table.states["moment2"], "moment1": table.states["moment1"]}


def short_state(table, memory):
    table.states["moment2"] = memory[:FEW]


def resized(table, memory):
    table.values.shape = (len(table.values) * 2, 2)


def doubled(table, memory):
    table.values = table.values.astype(np.float64)


def in_columns(table, memory):
    table.values = np.asfortranarray(table.values)


def locked(table, memory):
    table.values.flags.writeable = False


def listed(table, memory):
    table.values = table.values.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            other_states,
            "table.states has moment2, moment1, replaced since the table was made; assign a dictionary of mo",
        ),
        (short_state, r'table.states\["moment2"\] is float32 of shape \(2, 4\), replaced .* shape \(20, 4\)'),
        (resized, r"table.values is float32 of shape \(\d+, 2\), replaced or resized"),
        (doubled, r"table.values is float64 of shape \(20, 4\), .* assign an array of float32"),
        (listed, "table.values is a list, replaced"),
        (in_columns, "table.values is not a C-contiguous array"),
        (locked, "table.values is read-only"),
    ],
)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_arrays_that_are_not_those_of_the_table(change, message, ranks):
    """On one rank the table has twice the rows."""
    message = message.replace("20, 4", f"{HEIGHT // ranks}, 4")
    errors, _, done = run(change, "update", rule="adam", ranks=ranks)
    with pytest.raises(lodkit.LodkitError, match=message):
        raise errors[0]
    assert done == [0] * ranks


def test_an_array_like_the_first_one_may_take_its_place():
    table = ShardedTable(3, 2, rule="sgd", init=0.0, lr=1.0)
    table.lookup([1])
    table.values = np.full((3, 2), 5, np.float32)
    table.update(np.ones((1, 2), np.float32))
    assert table.values.tolist() == [[5, 5], [4, 4], [5, 5]]


def test_a_table_that_was_changed_is_not_saved(tmp_path):
    def job(engine):
        table = ShardedTable(HEIGHT, 4, engine, rule="sgd")
        table.save(tmp_path)
        if engine.rank:
            table.values = table.values.astype(np.float64)
        with pytest.raises(lodkit.LodkitError, match=r"table\.values is float64"):
            table.save(tmp_path)

    run_threads(2, job)
    assert Checkpoint(tmp_path).path.name == "checkpoint-00000001"


class Wrong(Ranges):
    """A dealing of the user's own."""

    def __init__(self, owner, local):
        super().__init__(8, 2)
        self.answer = owner, local

    def locate(self, ids):
        owner, local = self.answer
        return np.full(len(ids), owner), np.full(len(ids) if np.ndim(local) == 0 else local[0], 0)


@pytest.mark.parametrize(
    ("owner", "local", "message"),
    [
        (2, 0, r"Wrong.locate gave rank 2, row 0 for id 1; ranks are from 0 to 1, -1 for hot rows"),
        (-2, 0, r"Wrong.locate gave rank -2, row 0 for id 1"),
        (10**9, 0, r"Wrong.locate gave rank 1000000000, row 0 for id 1"),
        (0.5, 0, r"Wrong.locate gave float64 of shape \(2,\) and int64 of shape \(2,\) for 2 ids"),
        (0, [1], r"Wrong.locate gave int64 of shape \(2,\) and int64 of shape \(1,\) for 2 ids"),
    ],
)
def test_a_dealing_to_ranks_that_are_none(owner, local, message):
    def job(engine):
        table = ShardedTable(8, 2, engine, rule="sgd", dealing=Wrong(owner, local))
        with pytest.raises(lodkit.LodkitError, match=message):
            table.lookup([1, 2])

    run_threads(2, job)
