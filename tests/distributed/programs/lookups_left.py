"""A lookup that is begun and never waited for, as at the end of an epoch: its memory is MPI's until it is done."""

import gc

import numpy as np

import lodkit
from lodkit.distributed import ShardedTable

COUNT = 4_000_000

table = ShardedTable(COUNT, 1)
ids = np.arange(COUNT)
table.lookup(ids[:10])
table.start(ids)
del table
gc.collect()
others = [lodkit.empty((COUNT // 2,), np.int32) for _ in range(8)]  # where freed memory would be
for array in others:
    array[...] = 7
table = ShardedTable(COUNT, 1)
rows = table.lookup(ids[:1000])
print(f"rank {table.engine.rank} of {table.engine.size} has {len(rows)} rows")
assert all((array == 7).all() for array in others)
