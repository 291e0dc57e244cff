"""Kernels of lodkit/ops/dropout.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...ops.dropout import FIRST, GOLDEN, SECOND, prepare

_GOLDEN, _FIRST, _SECOND = map(np.uint64, (GOLDEN, FIRST, SECOND))


def bits_of(start, i):
    """The 32 random bits of element i, as uint64: SplitMix64, as the definition has it. Each device compiles this."""
    state = start + np.uint64(i) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return (state ^ (state >> np.uint64(31))) >> np.uint64(32)


@ops.dropout.kernel("cpu", "cuda")
def dropout(on, x, /, *, rate, seed, training, out=None):
    dtype, start, limit, factor = prepare(x, rate, seed, training)
    out = on.output(x.shape, dtype, out, x)
    if out.size:
        on.dropout.drop(x, np.uint64(start), np.uint64(limit), factor, out)
    return out
