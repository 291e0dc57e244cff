"""Rank 1 makes fewer steps than the others, or leaves them by sys.exit()."""

import sys

from lodkit.distributed import ShardedTable

table = ShardedTable(100, 2)
for step in range(5):
    if table.engine.rank == 1 and step == 2:
        if sys.argv[1] == "exit":
            sys.exit(int(sys.argv[2]))
        break
    table.lookup([step])
