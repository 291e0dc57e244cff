"""One exchange of several tables: each table's part is a generator, and what they send at a time is one message.

A generator checks its inputs and first yields the name of its call, which must be that of all ranks, and an int64
array of shape (ranks, COLUMNS): what it will send to each rank. It gets what each rank will send to this one, and from
then on yields lists of ``Part`` and gets what arrived for them. Until the first message has gone round nothing is
changed anywhere, so that an error of one rank is an error of all. An error after that leaves ranks that wait for each
other; where nobody catches it the engine ends all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from .calls import COLUMNS, announce
from .engine import Engine
from .messages import start

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
        numbers = np.zeros((engine.size, COLUMNS * len(jobs)), np.int64)
        try:
            for i, job in enumerate(jobs):
                name, numbers[:, COLUMNS * i :][:, :COLUMNS] = next(job)
                call = f"{call} {name}"
        except Exception as error:
            failed = error
        announced = announce(engine, call, numbers, failed)
        self._call = f"{call}, call {engine.calls}"
        self._advance([announced[:, COLUMNS * i :][:, :COLUMNS] for i in range(len(jobs))])

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

    def rejoin(self, error: Exception | None = None) -> None:
        """Say, where other calls may have come between, which exchange goes on: all ranks go on with the same.

        An ``error`` of this rank is raised on all.
        """
        announce(self._engine, f"wait for {self._call}", error=error)

    def finish(self) -> list[Any]:
        """Go through the rest; returns what each generator returns."""
        while not self.results:
            arrived, given = self._wait(), []
            for size in self._sizes:
                given.append(arrived[:size])
                arrived = arrived[size:]
            self._advance(given)
        return self.results
