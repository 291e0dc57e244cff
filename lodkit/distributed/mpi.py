"""MPI, by mpi4py: any MPI that it finds, or the one of ``pip install "lodkit[mpi]"``."""

from __future__ import annotations

import atexit
import functools
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from ..base.loading import public
from ..lod.offsets import lengths_to_offsets
from .calls import announce_end
from .engine import Engine, as_bytes, received

#: Requests, and the memory that MPI reads and writes until they are complete: of lookups that nobody waits for, and of
#: tables that are gone, too.
_begun: list[Any] = []


@functools.cache
def _row_type(size):
    """MPI's type of a row of so many bytes: counts are rows then, and 2**31 of them fit."""
    return MPI.BYTE.Create_contiguous(size).Commit()


def _message(rows, counts):
    """Rows for each rank, or from each, as mpi4py takes them."""
    counts, size = np.asarray(counts), as_bytes(rows).shape[1]
    if not size:
        return [rows, 0 * counts, MPI.BYTE]
    return [rows, (counts, lengths_to_offsets(counts)[:-1]), _row_type(size)]


def _end_all(comm):
    """End all ranks, once ``mpirun`` has had time to read what this one printed: it may drop the rest."""
    sys.stderr.flush()
    time.sleep(0.2)
    comm.Abort(1)


@functools.cache
def end_together() -> None:
    """Let an error that nobody catches end all ranks, which would wait for this one; as ``python -m mpi4py`` does."""
    before = sys.excepthook

    def hook(kind, error, trace):
        before(kind, error, trace)
        _end_all(MPI.COMM_WORLD)

    sys.excepthook = hook


@public(home="lodkit.distributed")
class MPIEngine(Engine):
    """The processes of a communicator of mpi4py; arrays travel from host memory to host memory.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    """

    transport = "MPI, host memory"

    def __init__(self, comm: Any) -> None:
        if comm == MPI.COMM_NULL:
            raise ValueError("comm is MPI's COMM_NULL: this process is not in it, or it was freed")
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        if self.size > 1:
            end_together()

    def alltoall(self, numbers):
        numbers = np.ascontiguousarray(numbers, np.int64)
        result = np.empty_like(numbers)
        self.comm.Alltoall(numbers, result)
        return result

    def start_alltoallv(self, sent, counts, expected):
        result = received(expected, sent)
        sent = np.ascontiguousarray(sent)
        _begun[:] = [(request, memory) for request, memory in _begun if not request.Test()]
        request = self.comm.Ialltoallv(_message(sent, counts), _message(result, expected))
        _begun.append((request, (sent, result)))

        def wait():
            request.Wait()
            return result

        return wait

    def alltoallv(self, sent, counts, expected):
        result = received(expected, sent)
        self.comm.Alltoallv(_message(np.ascontiguousarray(sent), counts), _message(result, expected))
        return result

    def allgather(self, array):
        array = np.asarray(array, order="C")
        result = np.empty((self.size, *array.shape), array.dtype)
        self.comm.Allgather([as_bytes(array.reshape(-1)), MPI.BYTE], [as_bytes(result), MPI.BYTE])
        return result

    def barrier(self):
        self.comm.Barrier()

    def abort(self, message):
        print(message, file=sys.stderr)
        _end_all(self.comm)


@functools.cache
def world_engine() -> MPIEngine:
    """The one engine of MPI's world: it counts the tables, which ranks make in one order."""
    engine = MPIEngine(MPI.COMM_WORLD)
    atexit.register(_end, engine)
    return engine


def _end(engine):
    if not MPI.Is_finalized():
        announce_end(engine)
