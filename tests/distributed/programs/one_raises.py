"""One rank raises an error of its own, while the others look rows up."""

from lodkit.distributed import ShardedTable

table = ShardedTable(100, 4)
table.lookup([1])
if table.engine.rank == 1:
    raise KeyError("rank 1 alone")
table.lookup([2])
