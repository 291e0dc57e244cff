"""Partial pooling adds the owners' parts of a bag in the type that was asked for."""

from __future__ import annotations

import numpy as np

import lodkit
from lodkit.distributed import ShardedTable, run_threads, uniform


def test_parts_of_float16_rows_are_not_rounded_where_float32_is_asked_for():
    lengths = [40, 0, 7, 90]
    ids = np.random.default_rng(0).integers(0, 100, sum(lengths))
    bags = lodkit.LoDTensor(ids, [lengths])

    def pooled(engine, exchange="partial", dtype="float32"):
        options = {"init": uniform(1, 2), "exchange": exchange, "dealing": "hash", "lr": 0.1}
        table = ShardedTable(100, 3, engine, dtype="float16", **options)
        out = table.embedding_bag(bags, dtype=dtype)
        table.update(out.astype(np.float16))
        return out

    expected = run_threads(1, lambda engine: pooled(engine, "rows"))[0]
    assert expected.dtype == np.float32
    for found in run_threads(4, pooled):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)  # float16 rounds to 5e-4
    assert run_threads(2, lambda engine: pooled(engine, dtype=None))[0].dtype == np.float16
