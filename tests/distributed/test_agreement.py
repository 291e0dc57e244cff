"""All ranks make the same calls, and what one refuses changes nothing anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import ShardedTable, ShardedTables, run_threads

THREE = LoDTensor(np.array([5, 0, 7]), [[3]])


def refused(ranks, function):
    """What each rank raises, or returns."""

    def call(engine):
        try:
            return function(engine)
        except lodkit.LodkitError as error:
            return str(error)

    return run_threads(ranks, call)


def test_ranks_make_the_same_call():
    weights = np.array([1, 2, 3], np.float32)

    def table(engine, **options):
        return ShardedTable(9, 2, engine, **{"rule": "sgd", "init": 1.0, "lr": 0.1, **options})

    def some_with_weights(engine):
        table(engine).embedding_bag(THREE, weights if engine.rank else None, pool="mean")

    def rates_of_their_own(engine):
        at = table(engine)
        at.update(at.embedding_bag(THREE), lr=0.1 * (1 + engine.rank))

    def tables_in_another_order(engine):
        first, second = table(engine), table(engine)
        (second if engine.rank else first).lookup([1])

    def rules_of_their_own(engine):
        table(engine, rule="adagrad" if engine.rank else "sgd").lookup([1])

    def hot_rows_of_their_own(engine):
        table(engine, hot=[engine.rank]).lookup([1])

    for call, words in (
        (some_with_weights, "without weights"),
        (rates_of_their_own, "('lr', 0.1)"),
        (tables_in_another_order, "table 1 (9 x 2"),
        (rules_of_their_own, ", sgd, rows"),
        (hot_rows_of_their_own, "hot rows"),
    ):
        said = refused(2, call)
        assert all("makes another call than this rank" in text for text in said), said
        assert words in said[0], said


def test_what_a_lookup_does_not_take():
    table = ShardedTable(9, 2, init=1.0)
    with pytest.raises(TypeError, match="takes no padding_idx; leave out ids of padding"):
        table.start(THREE, pool="sum", padding_idx=0)
    with pytest.raises(TypeError, match="lookup of a ShardedTable takes no weights"):
        table.start([1, 2], weights=np.ones(2))


def test_a_group_steps_all_tables_or_none():
    def call(engine):
        first = ShardedTable(9, 2, engine, rule="sgd", lr=0.1, init=1.0)
        second = ShardedTable(9, 2, engine, rule="adam", lr=0.1, init=1.0, lazy=False, duplicates="sequential")
        group = ShardedTables({"first": first, "second": second})
        out = group.embedding_bag({"first": THREE, "second": THREE})
        with pytest.raises(ValueError, match='duplicates="sequential" has no meaning'):
            group.update(out)
        return first.iteration, float(first.values.min())

    assert call(lodkit.distributed.Alone()) == (0, 1.0)
    assert run_threads(2, call) == [(0, 1.0)] * 2


def test_a_batch_is_stepped_once():
    table = ShardedTable(9, 2, rule="sgd", lr=0.1, init=1.0)
    first, second = table.start(THREE, pool="sum"), table.start(THREE, pool="sum")
    with pytest.raises(lodkit.LodkitError, match=r"call wait\(\) first"):
        table.update(np.ones((1, 2), np.float32), batch=first)
    out = first.wait()
    second.wait()
    table.update(out, batch=first)
    table.update(out)  # by the second, which was looked up last
    for batch in (first, second, None):
        with pytest.raises(lodkit.LodkitError, match="each once"):
            table.update(out, batch=batch)
