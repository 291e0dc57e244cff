"""Tables sharded by rows over the ranks of an engine: MPI, torch.distributed, threads, or one process."""

from .alone import Alone
from .batch import Batch
from .dealing import Dealing, Hashed, Ranges
from .engine import Engine, RankError, as_engine
from .group import Batches, ShardedTables
from .initial import normal, uniform
from .table import ShardedTable
from .threads import ThreadEngine, run_threads
from .traffic import Traffic

__all__ = [
    "Alone",
    "Batch",
    "Batches",
    "Dealing",
    "Engine",
    "Hashed",
    "RankError",
    "Ranges",
    "ShardedTable",
    "ShardedTables",
    "ThreadEngine",
    "Traffic",
    "as_engine",
    "normal",
    "run_threads",
    "uniform",
]
