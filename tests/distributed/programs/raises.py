"""One rank raises an error of its own between two steps, while the others wait for it."""

from __future__ import annotations

import numpy as np

from lodkit.distributed import ShardedTable

table = ShardedTable(100, 4, rule="sgd", lr=0.1)
for step in range(1000):
    table.lookup(np.arange(5))
    if step == 3 and table.engine.rank == 1:
        raise KeyError("a reader found no file")
