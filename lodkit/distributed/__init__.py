"""Tables sharded by rows over the ranks of an engine: MPI, torch.distributed, threads, or one process."""

from .dealing import Dealing, Hashed, Ranges

__all__ = ["Dealing", "Hashed", "Ranges"]
