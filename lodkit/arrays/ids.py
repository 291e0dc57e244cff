"""Checks of row ids, compiled, on the CPU."""

from __future__ import annotations

import numpy as np

from ..errors import bad_id
from ..jit import njit
from . import integers


@njit
def any_outside(ids, height):
    # Without an early exit the loop vectorises. Negative ids are huge as unsigned numbers.
    bad, limit = False, np.uint64(height)
    for i in range(len(ids)):
        bad |= np.uint64(ids[i]) >= limit
    return bad


def checked_ids(ids, height, name="ids", error=None):
    """Check that ids are in ``[0, height)``. Returns them as C-contiguous int64; ``error(ids, position)`` is the exception."""
    ids = integers(ids, name)
    flat = ids if ids.ndim == 1 else ids.reshape(-1)
    if any_outside(flat, height):
        at = int(np.argmax((flat < 0) | (flat >= height)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids
