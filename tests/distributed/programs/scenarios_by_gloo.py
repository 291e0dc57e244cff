"""Run scenarios on the processes of torch.distributed: ``scenarios_by_gloo.py RANK SIZE FILE names``."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import scenarios
import torch.distributed as dist

from lodkit.distributed import as_engine

rank, size, file, *names = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{file}", rank=int(rank), world_size=int(size))
engine = as_engine(dist.group.WORLD)
for name in names:
    getattr(scenarios, name)(engine)
    engine.barrier()
print(f"{engine.transport}: rank {engine.rank} of {engine.size} is done", flush=True)
dist.destroy_process_group()
