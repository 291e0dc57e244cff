"""One exchange of several tables: each table's part is a generator, and what they send at a time is one message.

A generator checks its inputs and first yields the name of its call, which must be that of all ranks, and an int64
array of shape (ranks, COLUMNS): what it will send to each rank. It gets what each rank will send to this one, and from
then on yields lists of ``Part`` and gets what arrived for them. Until the first message has gone round nothing is
changed anywhere, so that an error of one rank is an error of all. An error after that leaves ranks that wait for each
other; where nobody catches it the engine ends all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from ..errors import LodkitError
from .engine import Engine, raise_together
from .messages import start

COLUMNS = 3  # numbers that a table announces to each rank
FAILED, CALL, NUMBERS = 0, 1, 2  # columns of the first message

#: What a table's part of an exchange is.
Job = Generator[Any, Any, Any]


class Exchange:
    """An exchange that has begun: the first numbers have gone round, and the first arrays are on their way.

    Parameters
    ----------
    engine : Engine
    call : str
        What all ranks do together; another one on another rank is an error.
    jobs : sequence of generators
        Of one call: all yield equally often.
    """

    def __init__(self, engine: Engine, call: str, jobs: Sequence[Job]) -> None:
        self._engine, self._jobs, failed = engine, jobs, None
        numbers = np.zeros((engine.size, NUMBERS + COLUMNS * len(jobs)), np.int64)
        try:
            for i, job in enumerate(jobs):
                name, numbers[:, NUMBERS + COLUMNS * i :][:, :COLUMNS] = next(job)
                call = f"{call} {name}"
        except Exception as error:
            failed = error
        numbers[:, FAILED], numbers[:, CALL] = failed is not None, zlib.crc32(call.encode())
        announced = engine.alltoall(numbers)
        if announced[:, FAILED].any():
            raise_together(engine, failed, announced[:, FAILED])
        if (other := np.flatnonzero(announced[:, CALL] != numbers[0, CALL])).size:
            raise LodkitError(
                f"rank {other[0]} makes another call than this rank; all make the same, in the same order, here: {call}"
            )
        self._advance([announced[:, NUMBERS + COLUMNS * i :][:, :COLUMNS] for i in range(len(jobs))])

    def _advance(self, given):
        """Give each generator what arrived for it, and send what it yields; False where they have returned."""
        parts, self._sizes, self.results = [], [], []
        for job, got in zip(self._jobs, given, strict=True):
            try:
                found = job.send(got)
            except StopIteration as stop:
                self.results.append(stop.value)
            else:
                parts += found
                self._sizes.append(len(found))
        if not self.results:
            self._wait = start(self._engine, parts)
        return not self.results

    def finish(self) -> list[Any]:
        """Go through the rest; returns what each generator returns."""
        while not self.results:
            arrived, given = self._wait(), []
            for size in self._sizes:
                given.append(arrived[:size])
                arrived = arrived[size:]
            self._advance(given)
        return self.results
