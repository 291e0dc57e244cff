"""A job that trains, saves after every step and goes on from its last checkpoint.

    mpirun -n 4 python kill_job.py DIRECTORY STEPS KEEP

What it computes depends on the step alone, not on the number of ranks. Each rank prints its process, and rank 0 a line
after each step.
"""

from __future__ import annotations

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from batches import batch

from lodkit.distributed import NoCheckpointError, ShardedTable

HEIGHT, WIDTH, BAGS = 4000, 8, 96


def main(directory, steps, keep):
    try:
        table = ShardedTable.load(directory)
    except NoCheckpointError:
        table = ShardedTable(HEIGHT, WIDTH, dealing="hash", hot=[0, 1], rule="adam", lr=0.01, init="normal")
    engine = table.engine
    print(f"rank {engine.rank} {os.getpid()}", flush=True)
    for step in range(table.iteration, steps):
        bags = batch(step, engine.rank, engine.size, HEIGHT, BAGS, longest=12)
        out = table.embedding_bag(bags, pool="mean")
        table.update(0.1 * out)
        table.save(directory, keep=keep)
        if engine.rank == 0:
            print(f"step {step + 1}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None)
