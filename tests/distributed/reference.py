"""Batches of several ranks, and what one process makes of them: lodkit's operators on one whole table."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import Alone, ShardedTable, uniform
from lodkit.distributed.hot import share_states

HEIGHT, WIDTH, PARTS = 97, 8, 8
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
    a, b = np.asarray(a, order="C"), np.asarray(b, order="C")
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
    share_states(table)  # of hot rows, as when a checkpoint is saved
    for name, state in states.items():
        compare(whole(table, name), state, f"{what}: {name}")
    return table
