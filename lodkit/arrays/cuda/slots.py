"""Numbers that kernels note for the host, -1 at first: those of earlier calls are taken again, without a launch.

A note is the exception, as of a bad id: where the host reads that there is none, the slots are as they were. Slots of
kernels that always note something are taken once.
"""

from __future__ import annotations

import numpy as np

from .kernels import fill

_free: dict[tuple, list] = {}  # (library, device, queue, count) -> Views that hold -1


def free_slots(like, count):
    """The list of free slots for the stream of an array: append to it what holds -1 again."""
    key = like.library, like.device, like.library.queue(like.device), count
    found = _free.get(key)
    return _free.setdefault(key, []) if found is None else found


def slots(free, like, count):
    """A View of int64 that holds -1, on the device of an array."""
    try:
        return free.pop()
    except IndexError:  # another thread may have taken the last
        return fill(like.like((count,), np.int64), -1)
