"""Comparisons of a model with a table per feature: 26 bags in one call, beside a call for each table."""

from __future__ import annotations

import itertools

import numpy as np
from measuring import BATCHES, QUICK, measure, rng
from peers import torch

import lodkit

TABLES = 26  # Criteo's sparse features
HEIGHT, COLUMNS = 10_000, 16
SIZES = [*itertools.product((10, 100) if QUICK else (10, 100, 4096), (1, 20))]
#: Calls between two looks at the clock take about as long as this many ids.
IDS_OF_A_TURN = 50_000
#: Batches have so many ids in all, and are two at least.
IDS_OF_ALL = 4_000_000


def many_tables():
    """Compare embedding_bags, and Features.pool, with calls one by one, and with PyTorch's: of new ids in each call."""
    tables = {k: rng.standard_normal((HEIGHT, COLUMNS), dtype=np.float32) for k in range(TABLES)}
    theirs = [torch.from_numpy(table) for table in tables.values()] if torch else []
    for bags, each in SIZES:
        inner, sized = max(1, IDS_OF_A_TURN // (bags * each * TABLES)), _sized(bags, each)
        batches = [_draw_columns(bags, each) for _ in range(max(2, min(BATCHES, IDS_OF_ALL // (bags * each * TABLES))))]
        calls = {
            "lodkit": _rotated(batches, lambda c: lodkit.embedding_bags(tables, c)),
            "lodkit, one by one": _rotated(batches, lambda c: _one_by_one(tables, c)),
        }
        if torch:
            offsets = torch.arange(0, bags * each + 1, each)
            ids = [[torch.from_numpy(column.values) for column in columns.values()] for columns in batches]
            calls["torch"] = _rotated(ids, lambda i, o=offsets: _torch_bags(theirs, i, o))
        measure(f"embedding_bags {sized}", calls, inner=inner)
        features = [*map(lodkit.Features.from_columns, batches)]
        calls = {
            "lodkit": _rotated(features, lambda f: f.pool(tables)),
            "lodkit embedding_bags": _rotated(batches, lambda c: lodkit.embedding_bags(tables, c)),
        }
        measure(f"Features.pool {sized}", calls, inner=inner)


def many_updates():
    """Compare update_embedding_bags with a fused update of each table, by its slice of the gradient."""
    tables = {k: rng.standard_normal((HEIGHT, COLUMNS), dtype=np.float32) for k in range(TABLES)}
    for bags, each in SIZES:
        inner, columns = max(1, IDS_OF_A_TURN // (bags * each * TABLES)), _draw_columns(bags, each)
        grad = 1e-3 * rng.standard_normal((bags, TABLES * COLUMNS), dtype=np.float32)
        calls = {
            "lodkit": lambda r, c=columns, g=grad: lodkit.update_embedding_bags("sgd", tables, c, g, lr=1e-3),
            "lodkit, one by one": lambda r, c=columns, g=grad: _update_one_by_one(tables, c, g),
        }
        measure(f"update_embedding_bags by sgd {_sized(bags, each)}", calls, inner=inner)


def _sized(bags, each):
    return f"{TABLES} tables of {HEIGHT:,} x {COLUMNS}, {bags:,} bags of {each}"


def _draw_columns(bags, each):
    return {k: lodkit.LoDTensor(rng.integers(0, HEIGHT, bags * each), [[each] * bags]) for k in range(TABLES)}


def _rotated(batches, call):
    """Make a function of the round that calls ``call`` with another batch each time: a turn has many calls."""
    others = itertools.cycle(batches)
    return lambda r: call(next(others))


def _update_one_by_one(tables, columns, grad):
    for k, (table, ids) in enumerate(zip(tables.values(), columns.values(), strict=True)):
        part = lodkit.slice_columns(grad, ranges=[(k * COLUMNS, (k + 1) * COLUMNS)])
        lodkit.embedding_bag_sgd(table, ids, part, lr=1e-3)


def _one_by_one(tables, columns):
    parts = (lodkit.embedding_bag(table, ids) for table, ids in zip(tables.values(), columns.values(), strict=True))
    return lodkit.concat_columns(*parts)


def _torch_bags(tables, ids, offsets):
    call, keywords = torch.nn.functional.embedding_bag, {"mode": "sum", "include_last_offset": True}
    return torch.cat([call(x, table, offsets, **keywords) for table, x in zip(tables, ids, strict=True)], 1)


GROUPS = (many_tables, many_updates)
