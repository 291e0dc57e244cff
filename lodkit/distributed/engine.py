"""What tables need of a system that connects processes: a few collective calls on NumPy arrays.

Every rank makes the same calls in the same order. ``mpi``, ``torch_engine`` and ``threads`` have these calls, and
``Alone`` for one process; what all of them share is made of the calls here.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from ..arrays import empty
from ..arrays.sizes import total_size
from ..arrays.types import Array
from ..base.errors import LodkitError
from ..base.loading import public
from .calls import announce

# Each rank gets and sums all parts of at most this number of elements; larger arrays are reduced in slices.
MAX_REPLICATED_NUMBERS = 1 << 13


@public(home="lodkit.distributed")
class Engine(Protocol):
    """The calls by which ranks exchange arrays; all ranks make them together.

    Implement ``alltoall``, ``start_alltoallv``, ``allgather``, ``barrier`` and ``abort`` in a subclass to bring an
    engine of your own: the rest is made of these.

    Attributes
    ----------
    rank, size : int
    transport : str
        How arrays travel, for people.
    tables : int
        How many were made so far.
    calls : int
        Of all ranks, made so far.
    thread : int, optional
        The thread that made the first; all others come from it.
    """

    rank: int
    size: int
    transport: str
    tables: int = 0
    calls: int = 0
    thread: int | None = None

    def alltoall(self, numbers: Array) -> Array:
        """Send row r of an int64 array of shape (size, k) to rank r; return what each rank sent here, by rank."""

    def start_alltoallv(self, sent: Array, counts: Array, expected: Array) -> Callable[[], Array]:
        """Begin to send ``counts[r]`` rows of a C-contiguous array to each rank r, one rank's rows after another's.

        Parameters
        ----------
        sent : array of shape (counts.sum(), *item)
            Not to be written until the call has ended.
        counts, expected : array of int64, of shape (size,)
            Rows for each rank, and rows from each.

        Returns
        -------
        callable
            Waits for the end; returns an array of shape (expected.sum(), *item), by rank.
        """

    def allgather(self, array: Array) -> Array:
        """Return the arrays of all ranks, which have one shape and type, in an array of shape (size, *shape)."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def abort(self, message: str) -> None:
        """End all ranks, now."""

    def alltoallv(self, sent: Array, counts: Array, expected: Array) -> Array:
        """Send rows to each rank, and return the rows from each; see ``start_alltoallv``."""
        return self.start_alltoallv(sent, counts, expected)()

    def allreduce(self, array: Array) -> Array:
        """Return the sum of the arrays of all ranks, of one shape and type, added in the order of the ranks.

        Every rank gets the same bits, on any engine: rows of ranks are added in float64, and rounded once.
        """
        array = np.asarray(array, order="C")
        if self.size == 1:
            return array.copy()
        if array.size <= MAX_REPLICATED_NUMBERS:
            announce(self, f"allreduce of {array.dtype} of shape {array.shape}")
            return _sum_in_order(self.allgather(array), array.dtype)
        return self.sum_blocks(array[None])

    def sum_blocks(self, blocks: Array) -> Array:
        """Return the sum of the blocks of all ranks, in the order of the ranks and of each one's blocks.

        The same bits for any number of ranks that hold the same blocks in the same order: a batch is cut into blocks
        whose number does not depend on the ranks, and each rank sums gradients and losses of its own blocks.

        Parameters
        ----------
        blocks : array of shape (blocks of this rank, *shape)
            Ranks may have different numbers of blocks, or none; one shape and type.
        """
        blocks = np.asarray(blocks, order="C")
        flat = blocks.reshape(len(blocks), math.prod(blocks.shape[1:]))
        if self.size == 1:
            return _sum_in_order(flat, blocks.dtype).reshape(blocks.shape[1:])
        bounds = np.arange(self.size + 1) * flat.shape[1] // self.size
        call = f"sum_blocks of {blocks.dtype} of shape {blocks.shape[1:]}"
        widths, held = np.diff(bounds), announce(self, call, np.full((self.size, 1), len(flat)))[:, 0]
        sent = np.concatenate([flat[:, a:b].reshape(-1) for a, b in zip(bounds[:-1], bounds[1:], strict=True)])
        mine = widths[self.rank]
        parts = self.alltoallv(sent, len(flat) * widths, held * mine)
        part = _sum_in_order(parts.reshape(held.sum(), mine), blocks.dtype)
        whole = self.alltoallv(np.tile(part, self.size), np.full(self.size, mine), widths)
        return whole.reshape(blocks.shape[1:])


def _sum_in_order(rows, dtype):
    """The sum of rows, one after another: NumPy's own order depends on their width."""
    total = np.zeros(rows.shape[1:], np.promote_types(dtype, np.float64) if dtype.kind == "f" else dtype)
    for row in rows:
        total += row
    return total.astype(dtype)


def as_engine(comm: Any = None) -> Engine:
    """Return the engine of a communicator.

    Parameters
    ----------
    comm : optional
        A communicator of mpi4py, a process group of torch.distributed, or an ``Engine``. By default MPI's world where
        this process was started by ``mpirun``, else this process alone. With MPI an error that nobody catches ends all
        ranks, which would wait for this one.
    """
    if comm is None:
        comm = _world()
    if comm is None:
        return Alone()
    library = type(comm).__module__.partition(".")[0]
    if library == "mpi4py":
        from .mpi import MPI, MPIEngine, world_engine

        return world_engine() if comm == MPI.COMM_WORLD else MPIEngine(comm)
    if library == "torch":
        from .torch_engine import TorchEngine

        return TorchEngine(comm)
    if not callable(getattr(comm, "start_alltoallv", None)):
        raise TypeError(
            f"comm must be a communicator of mpi4py, a process group of torch.distributed or an Engine, got "
            f"{type(comm).__name__}"
        )
    return cast(Engine, comm)


#: Variables by which launchers tell a process how many there are: Open MPI, PMI (MPICH, Intel), MVAPICH.
LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")


def _world():
    """MPI's world, where a launcher of MPI has started this process or MPI is in use already."""
    launched = any(int(os.environ.get(name, 1)) > 1 for name in LAUNCHED) or "PMIX_RANK" in os.environ
    if "mpi4py.MPI" not in sys.modules and not launched:
        return None
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError('started by mpirun, but mpi4py is missing: pip install "lodkit[mpi]"') from error
    if MPI.COMM_WORLD.size == 1:
        if started := [f"{name}={os.environ[name]}" for name in LAUNCHED if int(os.environ.get(name, 1)) > 1]:
            raise LodkitError(
                f"the launcher started several processes ({started[0]}), but mpi4py's MPI knows of this one alone "
                f"({MPI.Get_library_version().split(',')[0]}): start them by the mpirun of that MPI"
            )
        return None
    return MPI.COMM_WORLD


def received(expected: Array, like: Array) -> Array:
    """Memory for rows from all ranks."""
    return empty((total_size(expected, "rows from all ranks"), *like.shape[1:]), like.dtype)


def as_bytes(array: Array) -> Array:
    """A C-contiguous array as a matrix of the bytes of its rows, in the same memory."""
    return array.reshape(-1).view(np.uint8).reshape(len(array), array.itemsize * math.prod(array.shape[1:]))


@public(home="lodkit.distributed")
class Alone(Engine):
    """One process, which sends to itself: what it gives is what it gets."""

    rank, size, transport = 0, 1, "one process"

    def alltoall(self, numbers):
        return numbers

    def start_alltoallv(self, sent, counts, expected):
        return lambda: sent

    def allgather(self, array):
        return array[None]

    def barrier(self):
        pass

    def abort(self, message):
        sys.exit(message)
