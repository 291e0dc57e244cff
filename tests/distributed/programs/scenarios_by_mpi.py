"""Run scenarios on the ranks of MPI: ``mpirun -n 4 python -m mpi4py scenarios_by_mpi.py [names]``."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import scenarios

from lodkit.distributed import as_engine

engine = as_engine()
for name in sys.argv[1:] or [scenario.__name__ for scenario in scenarios.ALL]:
    getattr(scenarios, name)(engine)
    engine.barrier()
    if engine.rank == 0:
        print(f"{name}: {engine.size} ranks, {engine.transport}", flush=True)
