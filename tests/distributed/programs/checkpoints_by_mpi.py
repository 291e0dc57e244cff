"""Save at all ranks, fail at one of them, save again and load: ``checkpoints_by_mpi.py DIRECTORY``."""

from __future__ import annotations

import resource
import sys

import numpy as np

from lodkit.distributed import Checkpoint, CheckpointError, NoCheckpointError, ShardedTable

directory = sys.argv[1]
try:
    table = ShardedTable.load(directory, dealing="ranges")  # of the run before, on other ranks
except NoCheckpointError:
    table = ShardedTable(5000, 8, rule="adagrad", lr=0.1, init="normal", dealing="hash", hot=[7])
engine, ids = table.engine, np.arange(5000)
table.update(np.ones_like(table.lookup(ids[engine.rank :: engine.size])))
expected = table.lookup(ids)
iteration = table.iteration
path = table.save(directory, keep=2, extra={"iteration": iteration})

last = engine.size - 1
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
if engine.rank == last:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # as on a full disk
try:
    table.save(directory)
except CheckpointError as error:
    said = f"nothing was saved, earlier checkpoints stay: rank {last}: OSError: [Errno 27] File too large: '"
    assert said in str(error), error
else:
    raise AssertionError(f"rank {last} cannot write, and nothing was raised")
if engine.rank == last:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)

assert Checkpoint(directory).path == path
assert Checkpoint(directory).extra() == {"iteration": iteration}
again = ShardedTable.load(directory)
assert again.iteration == iteration
np.testing.assert_array_equal(again.lookup(ids), expected)
np.testing.assert_array_equal(Checkpoint(directory).rows("table.values"), expected)
again.save(directory)
engine.barrier()
if engine.rank == 0:
    print(f"{iteration} iterations, {engine.size} ranks")
