"""A job that trains, saves after every step and goes on from its last checkpoint.

    mpirun -n 4 python kill_job.py DIRECTORY STEPS KEEP

What it computes depends on the step alone, not on the number of ranks. Each rank prints its process, and rank 0 a line
after each step.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from lodkit import LoDTensor
from lodkit.distributed import NoCheckpointError, ShardedTable

HEIGHT, WIDTH, BAGS = 4000, 8, 96


def batch(step, rank, size):
    """This rank's bags of the batch of a step."""
    rng = np.random.default_rng(step)
    lengths = rng.integers(0, 12, BAGS)
    ids = np.minimum(rng.zipf(1.3, lengths.sum()), HEIGHT) - 1
    cut = np.arange(size + 1) * BAGS // size
    bounds = np.concatenate([[0], np.cumsum(lengths)])[cut]
    return LoDTensor(ids[bounds[rank] : bounds[rank + 1]], [lengths[cut[rank] : cut[rank + 1]]])


def main(directory, steps, keep):
    try:
        table = ShardedTable.load(directory)
    except NoCheckpointError:
        table = ShardedTable(HEIGHT, WIDTH, dealing="hash", hot=[0, 1], rule="adam", lr=0.01, init="normal")
    engine = table.engine
    print(f"rank {engine.rank} {os.getpid()}", flush=True)
    for step in range(table.iteration, steps):
        bags = batch(step, engine.rank, engine.size)
        out = table.embedding_bag(bags, pool="mean")
        table.update(0.1 * out)
        table.save(directory, keep=keep)
        if engine.rank == 0:
            print(f"step {step + 1}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None)
