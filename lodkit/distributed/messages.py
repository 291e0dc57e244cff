"""Arrays that travel together, of several tables or of one, in one message to each rank; and what was sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import empty
from ..arrays.types import Array
from ..base.loading import public
from ..lod.copy_runs import move_runs
from ..lod.offsets import lengths_to_offsets
from .engine import Engine, as_bytes, received

WORD = 8  # bytes in which messages of several arrays are counted


class Part(NamedTuple):
    """An array, its rows for each rank, and the rows that come from each."""

    array: Array
    counts: Array
    expected: Array


def start(engine: Engine, parts: list[Part]) -> Callable[[], list[Array]]:
    """Begin to send all parts; returns a function that waits, and gives what arrived for each part, by rank."""
    if not parts:
        return list
    if len(parts) == 1:
        wait = engine.start_alltoallv(*parts[0])
        return lambda: [wait()]
    rows = [as_bytes(np.ascontiguousarray(part.array)) for part in parts]
    sizes = [x.shape[1] for x in rows]
    sending, places = _layout([part.counts for part in parts], sizes)
    message = empty((int(sending.sum()), WORD), np.uint8)
    flat = message.reshape(-1)
    for x, part, at in zip(rows, parts, places, strict=True):
        offsets = lengths_to_offsets(part.counts * x.shape[1])
        move_runs(x.reshape(-1), (offsets[:-1], offsets[1:], at), flat)
    expecting, found = _layout([part.expected for part in parts], sizes)
    wait = engine.start_alltoallv(message, sending, expecting)

    def finish():
        source, results = wait().reshape(-1), []
        for part, at in zip(parts, found, strict=True):
            result = received(part.expected, part.array)
            lengths = part.expected * as_bytes(result).shape[1]
            move_runs(source, (at, at + lengths, lengths_to_offsets(lengths)[:-1]), result.reshape(-1).view(np.uint8))
            results.append(result)
        return results

    return finish


def _layout(counts, sizes):
    """Words for each rank, and the first byte of each part in them: rank by rank, parts one after another."""
    words = [-(-c * size // WORD) for c, size in zip(counts, sizes, strict=True)]
    starts = lengths_to_offsets(np.stack(words, axis=1).reshape(-1))[:-1].reshape(-1, len(words))
    return np.add.reduce(words), list(np.ascontiguousarray(starts.T) * WORD)


@public(home="lodkit.distributed")
@dataclass
class Traffic:
    """What this rank has sent to others for one purpose.

    Attributes
    ----------
    calls : int
        Times that it was sent.
    messages : int
        Other ranks that got any of it, added up. Tables of a group share messages.
    bytes : int
        Without padding and without what stays on this rank.
    """

    calls: int = 0
    messages: int = 0
    bytes: int = 0

    def add(self, rank: int, part: Part) -> Part:
        """Count a part, and return it."""
        here = int(part.counts[rank])
        self.calls += 1
        self.messages += int(np.count_nonzero(part.counts)) - (here > 0)
        self.bytes += (int(np.add.reduce(part.counts)) - here) * part.array[:1].nbytes
        return part
