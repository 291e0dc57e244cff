"""Checks of row ids, compiled, on the CPU."""

from __future__ import annotations

import numpy as np

from ..base.errors import bad_id
from ..jit import njit
from .numpy_arrays import integers


@njit
def has_outside(ids, height):
    # Without an early exit the loop vectorises. Negative ids are huge as unsigned numbers.
    bad, limit = False, np.uint64(height)
    for i in range(len(ids)):
        bad |= np.uint64(ids[i]) >= limit
    return bad


def checked_ids(ids, height, name="ids", error=None):
    """Ids as C-contiguous int64, each in ``[0, height)``, in memory that no other thread writes.

    Kernels release the GIL and trust what was checked. ``error(ids, position)`` makes the exception.
    """
    made = integers(ids, name)
    if made is ids or made.base is not None:  # not made here
        made = made.copy()
    return ids_in_range(made, height, name, error)


def ids_in_range(ids, height, name="ids", error=None):
    """Ids as C-contiguous int64, each in ``[0, height)`` now: for kernels that look at each id again."""
    ids = integers(ids, name)
    flat = ids if ids.ndim == 1 else ids.reshape(-1)
    if has_outside(flat, height):
        at = int(np.argmax((flat < 0) | (flat >= height)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids
