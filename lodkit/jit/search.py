"""Offsets inside kernels: where a row belongs, the segments of a chunk of rows, sums that may not fit."""

from __future__ import annotations

import numpy as np
from numba import config

from .compiling import jitable


@jitable
def lower_bound(offsets, row):
    """Position of the first offset that is >= row."""
    low, high = 0, len(offsets)
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@jitable(inline=True, nrt=False)
def segment_of(offsets, row):
    """Number of the segment that a row lies in."""
    return lower_bound(offsets, row + 1) - 1


@jitable(inline=True, nrt=False)
def advance(offsets, s, row):
    """Number of the segment of a row that lies in segment s or behind it."""
    while offsets[s + 1] <= row:
        s += 1
    return s


@jitable(inline=True, nrt=False)
def segments_in(offsets, chunk, c):
    """Range of the segments whose first row lies in chunk c; there are ``offsets[-1] // chunk + 1`` chunks."""
    last = len(offsets) - 1
    first = 0 if c == 0 else min(last, lower_bound(offsets, c * chunk))
    return range(first, min(last, lower_bound(offsets, (c + 1) * chunk)))


def _allow_overflow(function):
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else jitable(function, inline=True)


@_allow_overflow
def plus(a, b):
    """The sum of sizes; a negative number where it does not fit int64.

    Of signed numbers LLVM expects that their sums fit, and drops a look at the sign of one.
    """
    return np.int64(np.uint64(a) + np.uint64(b))
