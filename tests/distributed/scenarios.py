"""What every engine must do: functions of an engine, which threads and processes run alike."""

from __future__ import annotations

import numpy as np
from reference import HEIGHT, INIT, LR, PARTS, WIDTH, batch, equals_one_process, gradient, parts_of, same, whole

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Alone, RankError, ShardedTable, ShardedTables
from lodkit.ops.bag_updates import FUSED

RULES = [op.definition.update.name for op in FUSED]


def every_rule(engine, rules=RULES):
    """Every rule that is fused, with every pool that it takes, and each weighted one."""
    for rule in rules:
        for pool, weighted in (("sum", False), ("mean", False), ("sqrt", False), ("sum", True), ("mean", True)):
            equals_one_process(engine, rule, pool, weighted=weighted)


def every_pool(engine):
    """Pools whose gradient is by rows, and lookups."""
    for pool in (None, "max", "min", "prod", "logsumexp", "logmeanexp"):
        equals_one_process(engine, "adagrad", pool)


def every_kind(engine):
    """Batches that are hard on one owner, and small tables."""
    for kind in ("one", "one owner", "duplicates"):
        for dealing in ("ranges", "hash"):
            equals_one_process(engine, "adagrad", "mean", kind=kind, dealing=dealing)
    for height in (1, 2, 5):
        for dealing in ("ranges", "hash"):
            equals_one_process(engine, "adagrad", "sum", height=height, dealing=dealing)


def every_type(engine):
    """int32 ids, float64, and float16 tables with float32 states."""
    equals_one_process(engine, "adagrad", "mean", ids_dtype=np.int32)
    equals_one_process(engine, "adagrad", "mean", dtype=np.float64)
    for weighted in (False, True):
        equals_one_process(engine, "adagrad", "mean", dtype=np.float16, weighted=weighted)
    equals_one_process(engine, "adagrad", None, dtype=np.float16)
    for dealing, hot in (("ranges", None), ("hash", [3, 90])):
        for attrs in ({}, {"lazy": False, "weight_decay": 0.1}):
            equals_one_process(
                engine, "adagrad", "mean", dtype=np.float16, rounding_seed=5, dealing=dealing, hot=hot, **attrs
            )


def hot_rows(engine):
    """Rows on every rank, whatever the dealing."""
    equals_one_process(engine, "adam", "mean", kind="duplicates", hot=[0, 5], lazy=False)
    for dealing in ("ranges", "hash"):
        for hot in ([0, 1, 2, 96], np.arange(HEIGHT)):
            for pool in ("sum", None, "max"):
                equals_one_process(engine, "adam", pool, kind="duplicates", dealing=dealing, hot=hot)


def steps_of_attributes(engine):
    """What has no fused operator, or attributes that it lacks."""
    equals_one_process(engine, "smart_decay_adam", "mean")
    equals_one_process(engine, "adam", "mean", lazy=False)
    equals_one_process(engine, "adagrad", "sum", duplicates="sequential")
    equals_one_process(engine, "adagrad", "sum", weight_decay=0.1, maximize=True, clip_value=0.2)
    equals_one_process(engine, "adagrad", "mean", overlap=True, steps=4)


def by_rounding(engine):
    """Norms over all rows, and partial pooling: sums in another order."""
    close = {"rtol": 2e-5, "atol": 2e-6}
    for rule in ("lars", "lamb", "wngrad", "storm"):
        for lazy in ({}, {"lazy": False}) if rule != "wngrad" else ({},):
            equals_one_process(engine, rule, "mean", close=close, **lazy)
    equals_one_process(engine, "dpsgd", "sum", close=close, clip_norm=0.5)
    equals_one_process(engine, "adam", "sum", close=close, clip_norm=0.5)
    for pool, weighted in (("sum", False), ("mean", False), ("sqrt", False), ("mean", True)):
        for hot in (None, [1, 2]):
            equals_one_process(
                engine, "sgd", pool, close=close, exchange="partial", weighted=weighted, dealing="hash", hot=hot
            )


def raises(kind, call, *said):
    try:
        call()
    except Exception as error:
        assert isinstance(error, kind), (type(error), str(error))
        for text in said:
            assert text in str(error), (text, str(error))
        return
    raise AssertionError(f"no {kind.__name__}")


def errors(engine):
    """What one rank refuses is refused on all, changes nothing, and leaves all ready for the next call."""
    last, size = engine.size - 1, engine.size
    table = ShardedTable(HEIGHT, WIDTH, engine, rule="adagrad", init=INIT, lr=LR)
    before, states = table.values.copy(), table.states["moment"].copy()
    good = LoDTensor([1, HEIGHT - 1], [[2]])
    for rank in {0, last}:
        mine = engine.rank == rank
        elsewhere = f"rank {rank} raised"
        for bad in (HEIGHT, -1):
            ids = LoDTensor([3, bad], [[2]]) if mine else good
            kind, said = (
                (lodkit.RowIndexError, (f"ids[1] = {bad}",)) if mine else (RankError, (elsewhere, f"ids[1] = {bad}"))
            )
            raises(kind, lambda ids=ids: table.embedding_bag(ids), *said)
            raises(kind, lambda ids=ids: table.lookup(ids.values), *said)
            raises(kind, lambda ids=ids: table.start(ids, pool="mean").wait(), *said)
        kind = lodkit.LoDError if mine else RankError
        raises(kind, lambda n=1 if mine else 2: table.embedding_bag(good, np.ones(n)), "pass one weight per row")
        raises(
            TypeError if mine else RankError, lambda ids=[1] if mine else good: table.embedding_bag(ids), "LoDTensor"
        )
        out = table.embedding_bag(good)
        wrong = np.zeros((2, WIDTH), np.float32) if mine else out
        raises(lodkit.ShapeMismatchError if mine else RankError, lambda g=wrong: table.update(g), "shape")
        out = table.embedding_bag(good)
        wrong = out.astype(np.float64) if mine else out
        raises(lodkit.DTypeError if mine else RankError, lambda g=wrong: table.update(g), "float64")
        out = table.embedding_bag(good)
        raises(ValueError if mine else RankError, lambda n=np.nan if mine else 1.0: table.update(out, lr=n), "lr")
    same(table.values, before, "values after errors")
    same(table.states["moment"], states, "states after errors")
    assert table.iteration == 0
    if size > 1:
        other = ShardedTable(HEIGHT + 1, WIDTH, engine, init=INIT)
        raises(lodkit.LodkitError, lambda: (table if engine.rank else other).lookup([1]), "another call")
    table.update(table.embedding_bag(good))
    assert table.iteration == 1


def groups(engine):
    """Several tables in one exchange equal each alone."""
    shapes = {"a": (HEIGHT, 8), "b": (31, 4), "c": (200, 8)}
    dealings = {"a": "ranges", "b": "hash", "c": "ranges"}

    def made():
        return {
            n: ShardedTable(
                *shape,
                engine,
                rule="adagrad",
                init=INIT,
                dealing=dealings[n],
                lr=LR,
                exchange="partial" if n == "c" else "rows",
            )
            for n, shape in shapes.items()
        }

    alone, group = made(), ShardedTables(made())
    for step in range(3):
        mine = parts_of(engine.rank, engine.size)
        ids = {n: batch(step + i, mine, height=shape[0])[0] for i, (n, shape) in enumerate(shapes.items())}
        weights = {"b": batch(step + 1, mine, height=31)[1]}
        expected = {n: alone[n].embedding_bag(ids[n], weights.get(n), pool="mean") for n in shapes}
        started = group.start(ids, pool="mean", weights=weights)
        found = started.wait()
        for n in shapes:
            same(found[n], expected[n], n)
            alone[n].update(gradient(expected[n]))
        group.update({n: gradient(x) for n, x in found.items()}, batches=started if step else None)
        for n in shapes:
            same(group[n].values, alone[n].values, n)
            looked = group.lookup({m: ids[m].values for m in shapes})
            same(looked[n], alone[n].lookup(ids[n].values), n)
    mine = engine.rank == engine.size - 1
    bad = {**ids, "b": LoDTensor([31], [[1]]) if mine else ids["b"]}
    raises(lodkit.RowIndexError if mine else RankError, lambda: group.embedding_bag(bad), "ids[0] = 31")
    raises(ValueError, lambda: group.embedding_bag({"a": ids["a"]}), "lacks") if engine.size == 1 else None


def sums(engine):
    """Sums in one order: those of blocks do not depend on the ranks."""
    rng = np.random.default_rng(0)
    for shape in ((), (3,), (100, 7), (9000, 3)):
        blocks = (rng.standard_normal((PARTS, *shape)) * 10.0 ** rng.integers(-3, 4, (PARTS, *shape))).astype(
            np.float32
        )
        mine = blocks[[*parts_of(engine.rank, engine.size)]]
        expected = np.zeros(shape)
        for block in blocks:
            expected = expected + block
        same(engine.sum_blocks(mine), expected.astype(np.float32), f"blocks of shape {shape}")
        each = np.asarray(blocks[engine.rank % PARTS])
        total = np.zeros(shape)
        for rank in range(engine.size):
            total = total + blocks[rank % PARTS]
        same(engine.allreduce(each), total.astype(np.float32), f"arrays of shape {shape}")
    numbers = np.arange(5) + engine.rank
    same(engine.allreduce(numbers), engine.size * np.arange(5) + engine.size * (engine.size - 1) // 2, "integers")


def many(engine):
    """As many ids as take the paths of large batches: sorts by digits, runs of one row that are cut."""
    height, width, count = 3000, 16, 40_000
    drawn = {
        "uniform": lambda rng: rng.integers(0, height, count),
        "zipf": lambda rng: rng.zipf(1.3, count) % height,
        "one": lambda rng: np.where(rng.random(count) < 0.9, 2999, rng.integers(0, height, count)),
    }
    for kind, draw in drawn.items():
        for dealing in ("ranges", "hash"):
            parts = []
            for number in range(4):
                rng = np.random.default_rng(number)
                ids = draw(rng)
                cuts = np.sort(rng.integers(0, count + 1, 1999))
                parts.append((ids, np.diff(cuts, prepend=0, append=count)))

            def joined(numbers, parts=parts):
                ids = [np.zeros(0, np.int64), *(parts[i][0] for i in numbers)]
                return LoDTensor(np.concatenate(ids), [np.concatenate([ids[0], *(parts[i][1] for i in numbers)])])

            table = ShardedTable(height, width, engine, rule="adagrad", init=INIT, lr=LR, dealing=dealing)
            out = table.embedding_bag(
                joined(range(engine.rank * 4 // engine.size, (engine.rank + 1) * 4 // engine.size)), pool="mean"
            )
            table.update(gradient(out))
            alone = ShardedTable(height, width, Alone(), rule="adagrad", init=INIT, lr=LR)
            alone.update(gradient(alone.embedding_bag(joined(range(4)), pool="mean")))
            same(whole(table), alone.values, f"{kind} {dealing}")
            same(whole(table, "moment"), alone.states["moment"], f"{kind} {dealing}: moment")


ALL = [
    sums,
    errors,
    groups,
    every_kind,
    every_type,
    every_pool,
    hot_rows,
    steps_of_attributes,
    by_rounding,
    many,
    every_rule,
]
