"""Tables sharded by rows over the ranks of an engine: MPI, torch.distributed, threads, or one process."""

from .checkpoint import Checkpoint
from .checkpoint_files import CheckpointError, NoCheckpointError
from .dealing import Dealing, Hashed, Ranges
from .simulate import Simulation, imbalance, simulate, zipf

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Dealing",
    "Hashed",
    "NoCheckpointError",
    "Ranges",
    "Simulation",
    "imbalance",
    "simulate",
    "zipf",
]
