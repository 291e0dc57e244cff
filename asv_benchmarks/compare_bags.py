"""Comparisons of bags and look-ups where people call them: one id a bag, few bags, small tables, one batch again."""

from __future__ import annotations

import itertools

import numpy as np
from measuring import BATCHES, HEIGHT, QUICK, measure, rng
from peers import torch

import lodkit

TABLES = [*itertools.product((100, HEIGHT) if QUICK else (10_000, HEIGHT), (16, 64))]
BAGS = [*itertools.product((10, 256) if QUICK else (10, 256, 4096), (1, 20))]
POOLS = {"sum": BAGS, "mean": BAGS[-2:], "max": BAGS[-2:]}
#: Numbers of ids of look-ups.
IDS = (50, 1000) if QUICK else (50, 1000, 20_000)
#: Calls between two looks at the clock take about as long as this many ids.
IDS_OF_A_TURN = 20_000


def _in_turn(call, batches):
    """Call with the next batch at each call, whatever the round."""
    batches = itertools.cycle(batches)
    return lambda r: call(*next(batches))


def _regimes(sizes):
    """Yield each table, size and whether ids are fresh, with the ids of all batches."""
    for (height, columns), size, fresh in itertools.product(TABLES, sizes, (True, False)):
        count = np.prod(size, dtype=int)
        ids = [rng.integers(0, height, count) for _ in range(BATCHES if fresh else 1)]
        yield height, columns, size, "fresh ids" if fresh else "the same ids", ids, max(1, IDS_OF_A_TURN // count)


def bags_in_regimes():
    """Compare with PyTorch's bags: all sums, and means and maxima of many bags."""
    for pool, sizes in POOLS.items():
        for height, columns, (bags, each), which, ids, inner in _regimes(sizes):
            table = rng.standard_normal((height, columns), dtype=np.float32)
            batches = [(lodkit.LoDTensor(x, [[each] * bags]),) for x in ids]
            calls = {"lodkit": _in_turn(lambda x, t=table, p=pool: lodkit.embedding_bag(t, x, pool=p), batches)}
            if torch:
                theirs, offsets = torch.from_numpy(table), torch.arange(0, bags * each + 1, each)
                keywords = {"offsets": offsets, "mode": pool, "include_last_offset": True}
                calls["torch"] = _in_turn(
                    lambda x, t=theirs, k=keywords: torch.nn.functional.embedding_bag(x, t, **k),
                    [(torch.from_numpy(x),) for x in ids],
                )
            measure(f"bags {pool} {height:,} x {columns}, {bags:,} of {each}, {which}", calls, inner=inner)


def lookups_in_regimes():
    """Compare with NumPy's and PyTorch's look-ups."""
    for height, columns, count, which, ids, inner in _regimes(IDS):
        table = rng.standard_normal((height, columns), dtype=np.float32)
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
        measure(f"lookup_table {height:,} x {columns}, {count:,} ids, {which}", calls, inner=inner)


GROUPS = bags_in_regimes, lookups_in_regimes
