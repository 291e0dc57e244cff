"""Random bits by number: SplitMix64, as ``lodkit/ops/dropout.py`` defines it, in the words of kernels."""

from __future__ import annotations

import numpy as np

from ...ops.dropout import FIRST, GOLDEN, SECOND

_GOLDEN, _FIRST, _SECOND = map(np.uint64, (GOLDEN, FIRST, SECOND))


def bits_of(start, i):
    """The 32 random bits of element i, as uint64. Each device compiles this function."""
    state = start + np.uint64(i) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return (state ^ (state >> np.uint64(31))) >> np.uint64(32)
