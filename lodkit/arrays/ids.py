"""Ids of rows of a table, checked on the CPU by compiled code."""

from __future__ import annotations

import numpy as np

from ..errors import bad_id
from ..jit import njit
from . import integers


@njit
def any_outside(ids, height):
    # No early exit: the loop vectorises, and a bad id is looked up by NumPy afterwards. Negative ones are huge.
    bad, limit = False, np.uint64(height)
    for i in range(len(ids)):
        bad |= np.uint64(ids[i]) >= limit
    return bad


def checked_ids(ids, height, name="ids", error=None):
    """``ids`` as C-contiguous int64, each inside ``[0, height)``; ``error(ids, position)`` makes the exception."""
    ids = integers(ids, name)
    flat = ids if ids.ndim == 1 else ids.reshape(-1)
    if any_outside(flat, height):
        at = int(np.argmax((flat < 0) | (flat >= height)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids
