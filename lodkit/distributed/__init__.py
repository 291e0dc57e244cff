"""Tables sharded by rows over the ranks of an engine: MPI, torch.distributed, threads, or one process."""

from .batch import Batch
from .calls import RankError
from .checkpoint import Checkpoint
from .checkpoint_files import CheckpointError, NoCheckpointError
from .dealing import Dealing, Hashed, Ranges
from .engine import Alone, Engine, as_engine
from .group import Batches, ShardedTables
from .initial import normal, uniform
from .messages import Traffic
from .simulate import Simulation, imbalance, simulate, zipf
from .table import ShardedTable
from .threads import ThreadEngine, run_threads

__all__ = [
    "Alone",
    "Batch",
    "Batches",
    "Checkpoint",
    "CheckpointError",
    "Dealing",
    "Engine",
    "Hashed",
    "NoCheckpointError",
    "RankError",
    "Ranges",
    "ShardedTable",
    "ShardedTables",
    "Simulation",
    "ThreadEngine",
    "Traffic",
    "as_engine",
    "imbalance",
    "normal",
    "run_threads",
    "simulate",
    "uniform",
    "zipf",
]
