"""The message that begins every call of all ranks: which call it is, and whether this rank has failed.

It has one shape, whatever the call. A rank that makes another call than the others, or whose program has ended while
they go on, is told from them by all, where each would wait for what another one does not send.
"""

from __future__ import annotations

import contextlib
import threading
import zlib
from typing import TYPE_CHECKING

import numpy as np

from ..arrays.types import Array
from ..base.errors import LodkitError
from ..base.loading import public

if TYPE_CHECKING:
    from .engine import Engine

FAILED, CALL, NUMBERS = 0, 1, 2  # columns of the message
COLUMNS = 3  # numbers that fit into it, for each rank
BYTES = 8 * (NUMBERS + COLUMNS)  # of the message, to each rank
END = "the end of its program"
TEXT = 2048  # bytes of a message from one rank to the others


@public(home="lodkit.distributed")
class RankError(LodkitError):
    """Another rank has refused its part of a call that all ranks make; nothing was changed on any of them.

    The message names the first such rank, and has what it raised. That rank raises its own error.
    """


def announce(engine: Engine, call: str, numbers: Array | None = None, error: Exception | None = None) -> Array:
    """Tell all ranks which call this one makes, and each of them a row of numbers; return what each told this one.

    Raises on every rank where the calls differ, or where one has an ``error``.
    """
    numbers = np.zeros((engine.size, 0), np.int64) if numbers is None else numbers
    message = np.zeros((engine.size, NUMBERS + COLUMNS), np.int64)
    message[:, FAILED], message[:, CALL] = error is not None, zlib.crc32(call.encode())
    message[:, NUMBERS : NUMBERS + numbers.shape[1]] = numbers[:, :COLUMNS]
    engine.thread = threading.get_ident() if engine.thread is None else engine.thread
    if engine.thread != threading.get_ident():
        raise LodkitError(
            "an engine's calls come from one thread, as other ranks cannot know in which order several make theirs; "
            "here another one made the first. Set engine.thread to None to hand the engine over"
        )
    engine.calls += 1
    announced = engine.alltoall(message)
    if announced[:, FAILED].any():
        raise_together(engine, error, announced[:, FAILED])
    if (other := np.flatnonzero(announced[:, CALL] != message[:, CALL])).size:
        texts = _texts(engine, call)
        raise LodkitError(
            f"rank {other[0]} makes another call than this rank; all make the same, in the same order. "
            f"There: {texts[other[0]]}. Here: {texts[engine.rank]}"
        )
    found = announced[:, NUMBERS:][:, : numbers.shape[1]]
    if numbers.shape[1] <= COLUMNS:
        return found
    return np.concatenate([found, engine.alltoall(numbers[:, COLUMNS:])], axis=1)


def announce_end(engine: Engine) -> None:
    """Tell the others that this rank's program has ended; wait for their ends. If they go on, it is they who raise."""
    if engine.calls and engine.size > 1:
        engine.thread = None
        with contextlib.suppress(LodkitError):
            announce(engine, END)


def raise_together(engine: Engine, error: Exception | None, failed: Array) -> None:
    """Raise on every rank, as some have ``failed``: the own error, or a RankError with that of the first of them."""
    texts = _texts(engine, "" if error is None else f"{type(error).__name__}: {error}")
    if error is not None:
        raise error
    rank = int(np.argmax(failed))
    raise RankError(f"rank {rank} raised {texts[rank]}")


def _texts(engine, text):
    """The text of each rank, which may be cut."""
    data, said = np.zeros(TEXT, np.uint8), text.encode()
    said = said if len(said) <= TEXT else said[: TEXT - 3] + b"..."
    data[: len(said)] = np.frombuffer(said, np.uint8)
    return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in engine.allgather(data)]
