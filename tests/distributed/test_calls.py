"""Ranks that make different calls are told so, all of them: none waits for what another does not send."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from test_agreement import refused

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Alone, Checkpoint, NoCheckpointError, ShardedTable, ShardedTables, run_threads


def two_tables(engine):
    return ShardedTable(8, 2, engine, init=1.0, lr=0.1), ShardedTable(8, 2, engine, init=2.0, lr=0.1)


def rows_by_id(ids, width):
    return np.repeat(ids, width).reshape(-1, width)


def told(ranks, function, *words):
    """All ranks have raised, and each has named another's call and its own."""
    said = refused(ranks, function)
    assert all("makes another call than this rank" in text for text in said), said
    for word in words:
        assert word in said[0], said


def test_waiting_in_another_order():
    def call(engine):
        begun = [table.start(np.arange(8)) for table in two_tables(engine)]
        for batch in begun[:: -1 if engine.rank else 1]:
            batch.wait()

    told(3, call, "wait for start rows of table 1", "wait for start rows of table 2")


def test_waiting_for_another_batch_of_one_table():
    def call(engine):
        table, _ = two_tables(engine)
        begun = [table.start([1, 2]), table.start([3, 4])]
        begun[engine.rank].wait()

    told(2, call, "call 1", "call 2")


def test_a_lookup_that_one_rank_does_not_wait_for():
    def call(engine):
        table, _ = two_tables(engine)
        batch = table.start([1, 2])
        if engine.rank == 0:
            batch.wait()
        table.lookup([1])

    told(2, call, "wait for start rows", "lookup rows")


def test_starting_where_others_look_up():
    def call(engine):
        table, _ = two_tables(engine)
        table.start([1]) if engine.rank else table.lookup([1])

    told(2, call, "start rows", "lookup rows")


def test_groups_of_other_names():
    def call(engine):
        first, second = two_tables(engine)
        ShardedTables({"a": first, "c" if engine.rank else "b": second}).lookup(
            {"a": [1], "c" if engine.rank else "b": [2]}
        )

    told(2, call, "lookup of a, b:", "lookup of a, c:")


def test_many_tables_at_once():
    """More numbers than the first message takes."""

    def call(engine):
        tables = {f"t{i}": ShardedTable(20 + i, 2, engine, init=rows_by_id) for i in range(5)}
        ids = {name: [3 * engine.rank, 19] for name in tables}
        return {name: rows[:, 0].tolist() for name, rows in ShardedTables(tables).lookup(ids).items()}

    assert run_threads(3, call) == [{f"t{i}": [3 * rank, 19] for i in range(5)} for rank in range(3)]


def test_many_tables_of_which_the_last_differs():
    """Beyond what the message shows of a call."""

    def call(engine):
        tables = {f"t{i}": ShardedTable(9, 2, engine, seed=engine.rank * (i == 29)) for i in range(30)}
        ShardedTables(tables).lookup({name: [1] for name in tables})

    told(2, call, "lookup of t0, t1", "...")


@pytest.mark.parametrize("name", ["allreduce", "sum_blocks"])
def test_sums_of_other_shapes_and_types(name):
    def call(other):
        return lambda engine: getattr(engine, name)(other if engine.rank else np.ones((2, 2)))

    for other, word in ((np.ones((2, 3)), "3"), (np.ones((2, 2), np.float32), "float32")):
        told(3, call(other), name, word)


def test_a_rank_that_returns_early():
    def call(engine):
        table, _ = two_tables(engine)
        for _ in range(3 - engine.rank):
            table.lookup([1])

    with pytest.raises(lodkit.LodkitError, match=r"rank 1 .*There: the end of its program\. Here: lookup rows"):
        run_threads(2, call)


def test_first_values_of_their_own():
    for options in ({"seed": 1}, {"init": "normal"}, {"init": 0.5}):

        def call(engine, options=options):
            ShardedTable(9, 2, engine, **(options if engine.rank else {})).lookup([1])

        told(2, call, "seed 0")


def test_saves_of_other_names_places_and_numbers(tmp_path):
    def save(name, where, keep):
        def call(engine):
            first, second = two_tables(engine)
            mine = (name, where, keep) if engine.rank else ("b", tmp_path, 3)
            ShardedTables({"a": first, mine[0]: second}).save(mine[1], keep=mine[2])

        return call

    for other in (("c", tmp_path, 3), ("b", tmp_path / "x", 3), ("b", tmp_path, 2)):
        told(2, save(*other), f"save of a, b in {tmp_path}, keep=3")
    with pytest.raises(NoCheckpointError):
        Checkpoint(tmp_path)


def test_loads_from_other_places(tmp_path):
    ShardedTable(9, 2, Alone(), init=1.0).save(tmp_path)
    paths = [tmp_path, tmp_path / "x"]
    told(2, lambda engine: ShardedTable.load(paths[engine.rank], engine), f"load from {tmp_path}")


def test_an_engine_has_one_thread():
    def call(engine):
        table, _ = two_tables(engine)
        table.lookup([1])
        raised = []

        def another():
            try:
                table.lookup([2])
            except lodkit.LodkitError as error:
                raised.append(str(error))

        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
        engine.thread = None  # hands it over
        return raised, table.lookup([3])[0, 0]

    for (raised,), value in run_threads(2, call):
        assert "calls come from one thread" in raised
        assert value == 1


def test_what_a_wait_sends_is_counted():
    def call(engine):
        at_once, later = two_tables(engine)
        at_once.lookup([1, 2])
        later.start([1, 2]).wait()
        return [(table.traffic["counts"].bytes, table.traffic["counts"].messages) for table in (at_once, later)]

    assert run_threads(3, call) == [[(2 * 40, 2), (4 * 40, 4)]] * 3


@pytest.mark.parametrize("ranks", [1, 2])
def test_inputs_may_be_filled_again_before_the_update(ranks):
    def call(engine, again):
        table = ShardedTable(9, 2, engine, rule="sgd", init=1.0, lr=0.5)
        ids, weights = np.array([1, 2, 2]), np.array([1, 2, 3], np.float32)
        batch = table.start(LoDTensor(ids, [[1, 2]]), pool="sum", weights=weights)
        if again:
            ids[:], weights[:] = 99, np.nan
        out = batch.wait()
        table.update(np.ones_like(out))
        rows = np.array([0, 1, 2])
        return table.lookup(rows)

    for again, plain in zip(*(run_threads(ranks, lambda e, a=a: call(e, a)) for a in (True, False)), strict=True):
        np.testing.assert_array_equal(again, plain)
