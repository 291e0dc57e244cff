"""Wrong arguments of sharded tables: each error names the argument, and what to give."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit.distributed import Checkpoint, Hashed, ShardedTable, ShardedTables, run_threads, simulate, zipf

BAGS = lodkit.LoDTensor([0, 3, 3], [[1, 2]])


@pytest.mark.parametrize(
    ("kind", "message", "args", "options"),
    [
        (TypeError, "height must be an integer, got 4.0", (4.0, 4), {}),
        (TypeError, "width must be an integer, got '4'", (4, "4"), {}),
        (TypeError, "seed must be an integer, got 'a'", (4, 4), {"seed": "a"}),
        (TypeError, "seed must be an integer, got 1.5", (4, 4), {"seed": 1.5}),
        (
            TypeError,
            r"states must be a list of names, got 'largest'; pass \['largest'\]",
            (4, 4),
            {"states": "largest"},
        ),
        (ValueError, r"adagrad has no states \['x'\]; it has moment", (4, 4), {"states": ["x"]}),
        (ValueError, "rule must be an optimizer's operator", (4, 4), {"rule": ["sgd"]}),
        (TypeError, "adagrad: lr must be a number", (4, 4), {"lr": "0.1"}),
        (ValueError, "lr must be finite and at least 0, got -1", (4, 4), {"lr": -1}),
        (ValueError, "lr must be finite and at least 0, got nan", (4, 4), {"lr": float("nan")}),
        (TypeError, "adagrad has no attribute 'learning_rate'", (4, 4), {"learning_rate": 0.1}),
        (ValueError, "epsilon", (4, 4), {"epsilon": -1.0}),
    ],
)
def test_of_a_table(kind, message, args, options):
    with pytest.raises(kind, match=message):
        ShardedTable(*args, **options)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "embedding_bag of a ShardedTable takes no foo; it takes pad_value and dtype",
            lambda t: t.start(BAGS, pool="sum", foo=1),
        ),
        ("lookup of a ShardedTable takes no foo; it takes nothing else", lambda t: t.start([1], foo=1)),
        ("batch must be what start returned, got int", lambda t: t.update(np.ones((2, 4)), batch=0)),
        ("directory must be a path, got NoneType", lambda t: t.save(None)),
        ("keep must be an integer, got '3'", lambda t: t.save("x", keep="3")),
        ("directory must be a path, got int", lambda t: ShardedTable.load(3)),
        ("directory must be a path, got int", lambda t: Checkpoint(3)),
    ],
)
def test_of_calls(message, call):
    with pytest.raises(TypeError, match=message):
        call(ShardedTable(5, 4, lr=0.1))


@pytest.mark.parametrize("tables", [{}, [], None, {"a": 3}, {3: ShardedTable(2, 2)}])
def test_groups_are_of_tables_by_name(tables):
    with pytest.raises(TypeError, match="tables"):
        ShardedTables(tables)


def test_a_group_has_each_table_once():
    table = ShardedTable(5, 4)
    with pytest.raises(ValueError, match="a table stands under two names"):
        ShardedTables({"a": table, "b": table})


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("ids must be a dictionary by the names of the tables, got list", lambda g: g.lookup([1])),
        ("ids: there is no table 'c'; the group has a, b", lambda g: g.lookup({"a": [1], "b": [1], "c": [1]})),
        ("ids lacks the table 'b'", lambda g: g.lookup({"a": [1]})),
        ("weights: there is no table 'c'", lambda g: g.embedding_bag({"a": BAGS, "b": BAGS}, {"c": [1.0]})),
        ("weights must be a dictionary", lambda g: g.embedding_bag({"a": BAGS, "b": BAGS}, [1.0])),
        ("grads must be a dictionary", lambda g: g.update(np.ones(3))),
        ("grads lacks the table 'b'", lambda g: g.update({"a": np.ones(3)})),
        ("batches must be what start returned", lambda g: g.update({"a": 0, "b": 0}, batches=3)),
    ],
)
def test_of_groups(message, call, ranks):
    def run(engine):
        with pytest.raises((TypeError, ValueError), match=message):
            call(ShardedTables({"a": ShardedTable(5, 4, engine), "b": ShardedTable(5, 4, engine)}))

    run_threads(ranks, run)


@pytest.mark.parametrize(
    ("kind", "message", "call"),
    [
        (TypeError, "dealing must be a Ranges or a Hashed, got 'hash'", lambda: simulate(BAGS, "hash", 4)),
        (TypeError, "width must be an integer", lambda: simulate(BAGS, Hashed(5, 2), 4.5)),
        (ValueError, "count must not be negative, got -1", lambda: zipf(-1, 5, 1)),
        (ValueError, "height must be at least 1, got 0", lambda: zipf(5, 0, 1)),
        (ValueError, "exponent must be a number from 0 on, got '1'", lambda: zipf(5, 5, "1")),
        (ValueError, "size must be at least 1, got 0", lambda: run_threads(0, print)),
        (TypeError, "ranks must be an integer, got 2.0", lambda: Hashed(5, 2.0)),
        (TypeError, "seed must be an integer, got None", lambda: Hashed(5, 2, seed=None)),
    ],
)
def test_of_simulations(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("kind", "message", "ids", "weights"),
    [
        (ValueError, "ids is structure without values; give it some", lodkit.LoDTensor(None, [[1, 2]]), None),
        (ValueError, "weights is structure without values", BAGS, lodkit.LoDTensor(None, [[1, 2]])),
        (lodkit.LoDError, "weights", BAGS, [1, [2]]),
        (lodkit.SizeError, "no memory for a copy of weights", BAGS, np.broadcast_to(np.int8(0), (1 << 60,))),
    ],
)
def test_of_bags(kind, message, ids, weights):
    with pytest.raises(kind, match=message):
        ShardedTable(4, 2).embedding_bag(ids, weights)


@pytest.mark.parametrize("grad", [[[1.0, 1.0], 10**300], [[1.0], [1.0, 2.0]]])
def test_uneven_lists_as_a_gradient(grad):
    table = ShardedTable(4, 2)
    table.lookup([0, 1])
    before = table.values.copy()
    with pytest.raises(lodkit.LoDError, match="grad"):
        table.update(grad)
    assert (table.values == before).all()
