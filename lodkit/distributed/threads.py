"""Ranks that are threads of one process: for tests and notebooks, where there is no MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.checks import integer
from ..base.loading import public
from .calls import announce_end
from .engine import Engine, received


class _Meeting:
    """Where the threads put what they send."""

    def __init__(self, size):
        self.barrier, self.slots = threading.Barrier(size), [None] * size

    def exchange(self, rank, given):
        """What all ranks have given, as long as none of them goes on: call ``barrier.wait()`` when it was read."""
        self.slots[rank] = given
        self.barrier.wait()
        return self.slots


@public(home="lodkit.distributed")
class ThreadEngine(Engine):
    """One of several threads; ``run_threads`` makes them."""

    transport = "memory of one process"

    def __init__(self, meeting: Any, rank: int, size: int) -> None:
        self._meeting, self.rank, self.size = meeting, rank, size

    def _gather_all(self, given, read):
        result = read(self._meeting.exchange(self.rank, given))
        self._meeting.barrier.wait()
        return result

    def alltoall(self, numbers):
        return self._gather_all(numbers, lambda slots: np.stack([rows[self.rank] for rows in slots]))

    def start_alltoallv(self, sent, counts, expected):
        def read(slots):
            out, at = received(expected, sent), 0
            for rows, numbers in slots:
                start, count = int(numbers[: self.rank].sum()), int(numbers[self.rank])
                out[at : at + count] = rows[start : start + count]
                at += count
            return out

        result = self._gather_all((sent, counts), read)
        return lambda: result

    def allgather(self, array):
        return self._gather_all(array, np.stack)

    def barrier(self):
        self._meeting.barrier.wait()

    def abort(self, message):
        self._meeting.barrier.abort()
        raise SystemExit(message)


def run_threads(size: int, function: Callable[[Engine], Any]) -> list[Any]:
    """Run ``function(engine)`` in ``size`` threads, the ranks; return what each returned, by rank.

    An error of one ends the others at their next exchange, and is raised here; so is that of ranks that make different
    calls, or of which one returns while others go on.

    Examples
    --------
    >>> import numpy as np
    >>> def total(engine):
    ...     return engine.allreduce(np.array([engine.rank]))
    >>> run_threads(3, total)
    [array([3]), array([3]), array([3])]
    """
    if integer(size, "size") < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    meeting, results, errors = _Meeting(size), [None] * size, {}

    def run(rank):
        try:
            engine = ThreadEngine(meeting, rank, size)
            results[rank] = function(engine)
            announce_end(engine)
        except BaseException as error:
            errors[rank] = error
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own = [e for _, e in sorted(errors.items()) if not isinstance(e, threading.BrokenBarrierError)]
    if own or errors:
        raise (own or [*errors.values()])[0]
    return results
