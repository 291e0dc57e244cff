"""Comparisons of bags, look-ups, pools and updates where people call them.

One id a bag, few bags, small tables, one batch again and fresh ones. Each row says how near it comes to what the memory
allows (``limits.py``).
"""

from __future__ import annotations

import itertools

import numpy as np
from compare_tables import torch_bags
from limits import least_milliseconds
from measuring import BATCHES, HEIGHT, QUICK, fresh, measure, rng, training_steps
from peers import torch

import lodkit

TABLES = [*itertools.product((100, HEIGHT) if QUICK else (10_000, HEIGHT), (16, 64))]
BAGS = [*itertools.product((10, 256) if QUICK else (10, 256, 4096), (1, 20))]
POOLS = {"sum": BAGS, "mean": BAGS[-2:], "max": BAGS[-2:]}
#: One bag regime, and what differs from it in turn: rows and columns of the table, bags, ids a bag.
CENTER = (1000, 64, 64, 20) if QUICK else (10_000, 64, 256, 20)
OTHERS = ((1000, 100_000), (8, 32, 100, 128), (1, 64), (2, 5, 100))
#: Numbers of ids of look-ups and updates.
IDS = (50, 1000) if QUICK else (50, 1000, 20_000)
#: Calls between two looks at the clock take about as long as this many ids.
IDS_OF_A_TURN = 20_000
ID_BYTES = 8


def _in_turn(call, batches):
    """Call with the next batch at each call, whatever the round."""
    batches = itertools.cycle(batches)
    return lambda r: call(*next(batches))


def _regimes(sizes):
    """Yield each table, size and whether ids are fresh, with the ids of all batches."""
    for (height, columns), size in itertools.product(TABLES, sizes):
        yield from _batches(height, columns, size)


def _batches(height, columns, size):
    """Yield batches of fresh ids, and one again and again; the last is the number of calls of a turn."""
    count = np.prod(size, dtype=int)
    for which, batches in (("fresh ids", BATCHES), ("the same ids", 1)):
        ids = [rng.integers(0, height, count) for _ in range(batches)]
        yield height, columns, size, which, ids, max(1, IDS_OF_A_TURN // count)


def _limit(height, row_bytes, ids, result_bytes):
    """Return the least time of a call that reads rows by ids and writes a result."""
    count, touched = len(ids[0]), len(np.unique(np.concatenate(ids)))
    moved = count * (row_bytes + ID_BYTES) + result_bytes
    return least_milliseconds(moved, touched * row_bytes + len(ids) * count * ID_BYTES + result_bytes)


def _table(height, columns, dtype="float32"):
    return rng.standard_normal((height, columns), dtype=np.float32).astype(dtype, copy=False)


def bags_in_regimes():
    """Compare with PyTorch's bags: all sums, and means and maxima of many bags."""
    for pool, sizes in POOLS.items():
        for height, columns, size, which, ids, inner in _regimes(sizes):
            _bags(_table(height, columns), size, which, ids, inner, pool)


def bags_around_one_regime():
    """Compare bags that differ from one regime in the table, the number of bags, ids, weights, types or ``out``."""
    for at, others in enumerate(OTHERS):
        for other in others:
            height, columns, *size = (*CENTER[:at], other, *CENTER[at + 1 :])
            for *_, which, ids, inner in _batches(height, columns, tuple(size)):
                _bags(_table(height, columns), size, which, ids, inner, "sum")
    height, columns, *size = CENTER
    for *_, which, ids, inner in _batches(height, columns, tuple(size)):
        weights = rng.standard_normal(len(ids[0]), dtype=np.float32)
        _bags(_table(height, columns), size, which, ids, inner, "sum", weights=weights)
        _bags(_table(height, columns, "float16"), size, which, ids, inner, "sum")
        out = np.empty((size[0], columns), np.float32)
        _bags(_table(height, columns), size, which, ids, inner, "sum", out=out)


def _bags(table, size, which, ids, inner, pool, weights=None, out=None):
    (height, columns), (bags, each) = table.shape, size
    given = () if weights is None else (weights,)
    batches = [(lodkit.LoDTensor(x, [[each] * bags]),) for x in ids]
    into = {} if out is None else {"out": out}
    calls = {"lodkit": _in_turn(lambda x: lodkit.embedding_bag(table, x, *given, pool=pool, **into), batches)}
    if torch:
        theirs, offsets = torch.from_numpy(table), torch.arange(0, bags * each + 1, each)
        keywords = {"offsets": offsets, "mode": pool, "include_last_offset": True}
        if weights is not None:
            keywords["per_sample_weights"] = torch.from_numpy(weights)
        calls["torch"] = _in_turn(
            lambda x: torch.nn.functional.embedding_bag(x, theirs, **keywords), [(torch.from_numpy(x),) for x in ids]
        )
    kind = "" if table.dtype == np.float32 else f" {table.dtype}"
    kind += ("" if weights is None else " weighted") + ("" if out is None else " out=")
    limit = _limit(height, table.itemsize * columns, ids, bags * columns * table.itemsize)
    name = f"bags {pool}{kind} {height:,} x {columns}, {bags:,} of {each}, {which}"
    measure(name, calls, inner=inner, limit=limit)


def lookups_in_regimes():
    """Compare with NumPy's and PyTorch's look-ups."""
    for height, columns, count, which, ids, inner in _regimes(IDS):
        table = _table(height, columns)
        batches = [(x,) for x in ids]
        calls = {
            "lodkit": _in_turn(lambda x, t=table: lodkit.lookup_table(t, x), batches),
            "numpy take": _in_turn(lambda x, t=table: t.take(x, axis=0), batches),
        }
        if torch:
            theirs = torch.from_numpy(table)
            calls["torch"] = _in_turn(
                lambda x, t=theirs: torch.nn.functional.embedding(x, t), [(torch.from_numpy(x),) for x in ids]
            )
        limit = _limit(height, 4 * columns, ids, 4 * columns * count)
        measure(f"lookup_table {height:,} x {columns}, {count:,} ids, {which}", calls, inner=inner, limit=limit)


def pools_in_regimes():
    """Compare sums and maxima of sequences with NumPy's and PyTorch's, of one batch again and of 24 in turn."""
    for (sequences, each), columns, pool in itertools.product(BAGS, (16, 64), ("sum", "max")):
        for which, batches in (("fresh rows", BATCHES), ("the same rows", 1)):
            count, lengths = sequences * each, np.full(sequences, each)
            rows = [_table(count, columns) for _ in range(batches)]
            starts = np.arange(sequences) * each
            reduceat = (np.add if pool == "sum" else np.maximum).reduceat
            calls = {
                "lodkit": _in_turn(
                    lambda x, p=pool: lodkit.sequence_pool(x, pool=p), [(lodkit.LoDTensor(x, [lengths]),) for x in rows]
                ),
                "numpy reduceat": _in_turn(lambda x, s=starts, f=reduceat: f(x, s), [(x,) for x in rows]),
            }
            if torch:
                theirs = torch.from_numpy(lengths)
                calls["torch segment_reduce"] = _in_turn(
                    lambda x, n=theirs, p=pool: torch.segment_reduce(x, p, lengths=n, unsafe=True),
                    [(torch.from_numpy(x),) for x in rows],
                )
            size, result = 4 * columns * count, 4 * columns * sequences
            limit = least_milliseconds(size + result, batches * size + result)
            name = f"sequence_pool {pool} {sequences:,} of {each} x {columns}, {which}"
            measure(name, calls, inner=max(1, IDS_OF_A_TURN // count), limit=limit)


def updates_in_regimes():
    """Compare steps of SGD by SelectedRows with PyTorch's by sparse gradients, whose rows repeat as drawn."""
    for height, columns, count, which, ids, inner in _regimes(IDS):
        table, value = _table(height, columns), _table(count, columns)
        grads, steps = [lodkit.SelectedRows(x, value, height) for x in ids], training_steps({"lr": 0.01})
        calls = {
            "lodkit": _in_turn(
                lambda g, t=table, s=steps: lodkit.run("sgd", t, fresh(g), **next(s)), [(g,) for g in grads]
            )
        }
        if torch:
            parameter = torch.nn.Parameter(torch.from_numpy(_table(height, columns)))
            optimizer = torch.optim.SGD([parameter], lr=0.01)
            theirs = torch.from_numpy(value)
            sparse = [
                torch.sparse_coo_tensor(torch.from_numpy(x)[None], theirs, table.shape, check_invariants=False)
                for x in ids
            ]
            calls["torch.optim"] = _in_turn(lambda g, p=parameter, o=optimizer: _step(p, o, g), [(g,) for g in sparse])
        # Each row is read and written, and its gradient read.
        row_bytes, touched = 4 * columns, len(np.unique(np.concatenate(ids)))
        moved = count * (row_bytes + ID_BYTES) + 2 * row_bytes * len(np.unique(ids[0]))
        limit = least_milliseconds(moved, touched * row_bytes + count * row_bytes + len(ids) * count * ID_BYTES)
        measure(f"sgd {height:,} x {columns}, {count:,} rows, {which}", calls, inner=inner, limit=limit)


def _step(parameter, optimizer, grad):
    parameter.grad = grad
    optimizer.step()


def packed_bags_in_regimes():
    """Compare bags of 8 and 4 bits with PyTorch's."""
    for (height, columns), size, bits in itertools.product(TABLES, BAGS, (8, 4)):
        table, (bags, each) = _table(height, columns), size
        rows = lodkit.quantize_rows(table, bits=bits)
        for *_, which, ids, inner in _batches(height, columns, size):
            batches = [lodkit.LoDTensor(x, [[each] * bags]) for x in ids]
            calls = {
                "lodkit": _in_turn(
                    lambda x, q=rows, b=bits: lodkit.quantized_embedding_bag(q, x, bits=b), [(x,) for x in batches]
                )
            }
            if torch:
                call, rounds = torch_bags(table, batches, bits), itertools.count()
                calls["torch"] = lambda r, c=call, n=rounds: c(next(n))
            limit = _limit(height, rows.values.shape[1], ids, 4 * columns * bags)
            name = f"bags of {bits} bits {height:,} x {columns}, {bags:,} of {each}, {which}"
            measure(name, calls, inner=inner, limit=limit)


GROUPS = (
    bags_in_regimes,
    bags_around_one_regime,
    lookups_in_regimes,
    pools_in_regimes,
    updates_in_regimes,
    packed_bags_in_regimes,
)
