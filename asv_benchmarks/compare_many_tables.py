"""Comparisons of a model with a table per feature: 26 bags in one call, beside a call for each table."""

from __future__ import annotations

import itertools

import numpy as np
from measuring import QUICK, measure, rng
from peers import torch

import lodkit

TABLES = 26  # Criteo's sparse features
HEIGHT, COLUMNS = 10_000, 16
SIZES = [*itertools.product((10, 100) if QUICK else (10, 100, 4096), (1, 20))]
#: Calls between two looks at the clock take about as long as this many ids.
IDS_OF_A_TURN = 50_000


def many_tables():
    """Compare embedding_bags, and Features.pool, with calls one by one, and with PyTorch's."""
    tables = {k: rng.standard_normal((HEIGHT, COLUMNS), dtype=np.float32) for k in range(TABLES)}
    theirs = [torch.from_numpy(table) for table in tables.values()] if torch else []
    for bags, each in SIZES:
        columns = {k: lodkit.LoDTensor(rng.integers(0, HEIGHT, bags * each), [[each] * bags]) for k in tables}
        features = lodkit.Features.from_columns(columns)
        peers = {"lodkit, one by one": lambda r, c=columns: _one_by_one(tables, c)}
        if torch:
            ids = [torch.from_numpy(column.values) for column in columns.values()]
            offsets = torch.arange(0, bags * each + 1, each)
            peers["torch"] = lambda r, i=ids, o=offsets: _torch_bags(theirs, i, o)
        inner = max(1, IDS_OF_A_TURN // (bags * each * TABLES))
        sized = f"{TABLES} tables of {HEIGHT:,} x {COLUMNS}, {bags:,} bags of {each}"
        one_call = {"lodkit": lambda r, c=columns: lodkit.embedding_bags(tables, c)}
        measure(f"embedding_bags {sized}", one_call | peers, inner=inner)
        pooled = {"lodkit": lambda r, f=features: f.pool(tables)}
        measure(f"Features.pool {sized}", pooled | {"lodkit embedding_bags": one_call["lodkit"]}, inner=inner)


def _one_by_one(tables, columns):
    parts = (lodkit.embedding_bag(table, ids) for table, ids in zip(tables.values(), columns.values(), strict=True))
    return lodkit.concat_columns(*parts)


def _torch_bags(tables, ids, offsets):
    call, keywords = torch.nn.functional.embedding_bag, {"mode": "sum", "include_last_offset": True}
    return torch.cat([call(x, table, offsets, **keywords) for table, x in zip(tables, ids, strict=True)], 1)


GROUPS = (many_tables,)
