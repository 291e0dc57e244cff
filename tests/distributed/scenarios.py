"""What every engine must do: functions of an engine, which threads and processes of MPI run alike.

The reference is lodkit's operators on one whole table, with the ranks' batches one after another.
"""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Alone, RankError, ShardedTable, ShardedTables, uniform
from lodkit.ops.bag_updates import FUSED

HEIGHT, WIDTH, PARTS = 97, 8, 8
RULES = [op.definition.update.name for op in FUSED]
INIT = uniform(-1, 1, seed=3)
LR = 0.1


def parts_of(rank, size):
    """The parts of the global batch that a rank has: none on some ranks, if there are more ranks than parts."""
    return range(rank * PARTS // size, (rank + 1) * PARTS // size)


def part(step, number, kind="mixed", height=HEIGHT, dtype=np.int64):
    """Ids and lengths of a part: some bags are empty, and so are some parts."""
    rng = np.random.default_rng([step, number])
    lengths = rng.integers(0, 6, 0 if (step + number) % 5 == 4 else 5)
    count = lengths.sum()
    draw = {
        "mixed": lambda: rng.integers(0, height, count),
        "one": lambda: np.full(count, height - 1),
        "one owner": lambda: rng.integers(0, max(height // 9, 1), count),
        "duplicates": lambda: rng.zipf(1.3, count) % height,
    }
    return draw[kind]().astype(dtype), lengths, rng.uniform(0.1, 1, count).astype(np.float32)


def batch(step, numbers, kind="mixed", height=HEIGHT, dtype=np.int64):
    """A batch of some parts, and its weights."""
    parts = [part(step, number, kind, height, dtype) for number in numbers]
    empty = np.zeros(0, dtype), np.zeros(0, np.int64), np.zeros(0, np.float32)
    ids, lengths, weights = (np.concatenate(x) for x in zip(empty, *parts, strict=True))
    return LoDTensor(ids, [lengths]), weights


def gradient(out):
    """Some gradient of a result."""
    out = np.asarray(out.values if isinstance(out, LoDTensor) else out)
    return (np.cos(out.astype(np.float64) * 5)).astype(out.dtype)


def whole(table, name="values"):
    """The rows of all ranks, in the order of ids."""
    mine = table.values if name == "values" else table.states[name]
    if mine.shape[:1] != table.values.shape[:1]:
        return mine
    out = np.zeros((table.height, *mine.shape[1:]), mine.dtype)
    counts, engine = table.dealing.counts, table.engine
    ones = np.tile(mine, (engine.size, *[1] * (mine.ndim - 1)))
    got = engine.alltoallv(ones, np.full(engine.size, len(mine)), counts)
    at = 0
    for rank, count in enumerate(counts):
        out[table.dealing.rows(rank)] = got[at : at + count]
        at += count
    return out


def same(a, b, what):
    """Bit for bit."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    assert a.dtype == b.dtype, (what, a.dtype, b.dtype)
    assert a.shape == b.shape, (what, a.shape, b.shape)
    wrong = np.flatnonzero(a.reshape(-1).view(np.uint8) != b.reshape(-1).view(np.uint8))
    assert not wrong.size, f"{what}: {wrong.size} bytes differ; largest difference {np.abs(a - b).max()}"


def one_process(
    rule, pool, steps, weighted=False, kind="mixed", height=HEIGHT, dtype=np.float32, ids_dtype=np.int64, **attrs
):
    """Table, states and results after some steps of operators on one whole table."""
    op, fused = lodkit.OPS[rule], lodkit.OPS.get(f"embedding_bag_{rule}")
    alone = ShardedTable(height, WIDTH, Alone(), rule=rule, dtype=dtype, init=INIT, lr=LR)
    table, states, results = alone.values, alone.states, []
    for step in range(steps):
        ids, weights = batch(step, range(PARTS), kind, height, ids_dtype)
        weights = weights if weighted else None
        now = {"iteration": step} if "iteration" in op._tests else {}
        if attrs.get("rounding_seed") is not None:
            now["rounding_seed"] = attrs["rounding_seed"] + step
        settings = {"lr": LR, **attrs, **now}
        if pool is None:
            out = lodkit.lookup_table(table, ids.values)
            by_rows = lodkit.lookup_table_grad(table, ids.values, gradient(out))
        else:
            out = lodkit.embedding_bag(table, ids, weights, pool=pool)
            by_rows = lodkit.embedding_bag_grad(table, ids, gradient(out), weights, pool=pool)
        results.append(out)
        if (
            pool in ("sum", "mean", "sqrt")
            and fused is not None
            and not {"lazy", "clip_norm", "rounding_seed"} & {*attrs}
        ):
            absent = [None] * (len(op.inputs) - 2 - len(states))
            fused(table, ids, gradient(out), *states.values(), *absent, weights, pool=pool, **settings)
        else:
            lazy = {"lazy": True} if "lazy" in op.defaults else {}
            op(table, by_rows, *states.values(), **{**lazy, **settings})
    return table, states, results


def equals_one_process(
    engine,
    rule="adagrad",
    pool="sum",
    steps=2,
    weighted=False,
    kind="mixed",
    height=HEIGHT,
    dtype=np.float32,
    ids_dtype=np.int64,
    close=None,
    exchange="rows",
    dealing="ranges",
    hot=None,
    overlap=False,
    **attrs,
):
    """Results on each rank, the table and its states after some steps: the same bits, or ``close`` numbers."""
    expected, states, results = one_process(rule, pool, steps, weighted, kind, height, dtype, ids_dtype, **attrs)
    what = f"{rule} {pool} weighted={weighted} {kind} {dtype} {dealing} rank {engine.rank} of {engine.size}"
    compare = same if close is None else lambda a, b, w: np.testing.assert_allclose(a, b, err_msg=w, **close)
    settings = {
        "rule": rule,
        "dtype": dtype,
        "init": INIT,
        "lr": LR,
        "exchange": exchange,
        "dealing": dealing,
        "hot": hot,
    }
    table = ShardedTable(height, WIDTH, engine, **settings, **attrs)
    mine = parts_of(engine.rank, engine.size)

    def begin(step):
        ids, weights = batch(step, mine, kind, height, ids_dtype)
        if pool is None:
            return table.start(ids.values)
        return table.start(ids, pool=pool, weights=weights if weighted else None)

    started = begin(0)
    for step in range(steps):
        out = started.wait()
        ids, before = (
            batch(step, mine, kind, height, ids_dtype)[0],
            batch(step, range(mine.start), kind, height, ids_dtype)[0],
        )
        first = len(before.values) if pool is None else len(before)
        count = len(ids.values) if pool is None else len(ids)
        compare(out, results[step][first : first + count], f"{what}: result of step {step}")
        following = begin(step + 1) if overlap and step + 1 < steps else None
        table.update(gradient(out), batch=started)
        started = following or (begin(step + 1) if step + 1 < steps else None)
    compare(whole(table), expected, what)
    for name, state in states.items():
        compare(whole(table, name), state, f"{what}: {name}")
    return table


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
        equals_one_process(engine, "adagrad", "mean", dtype=np.float16, rounding_seed=5, dealing=dealing, hot=hot)


def hot_rows(engine):
    """Rows on every rank, whatever the dealing."""
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
