"""Reduce numbers with unsorted segment ids where they lie: a sort of the ids costs more than the numbers."""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, njit
from ....jit.reducers import REDUCERS, all_of

SCATTERED = ("sum", "mean", "sqrt", "prod", "max", "min")


@functools.cache
def _kernel(reduce, counts):
    """Kernel over values in order: one thread, so the bits of a result do not depend on how many there are.

    Where it does not count, what an empty segment starts from is its result: half the time.
    """
    reducer = REDUCERS[reduce]
    divides, divisor = reducer.divisor is not None, jitable(reducer.divisor or all_of)
    step = jitable(reducer.step)

    @njit
    def kernel(values, ids, total, count, pad, out):
        for i in range(len(ids)):
            s = ids[i]
            total[s] = step(total[s], values[i])
            if counts:
                count[s] += 1
        for s in range(len(out)):
            if counts and count[s] == 0:
                out[s] = pad
            elif divides:
                out[s] = total[s] / divisor(float(count[s]))
            else:
                out[s] = total[s]

    return kernel


def _start(reduce, dtype):
    """What a segment's steps start from, in the wide type of the values."""
    if reduce in ("max", "min"):
        low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return low if reduce == "max" else high
    return REDUCERS[reduce].start


def scatter(values, ids, num_segments, reduce, pad, out):
    """Reduce a vector into ``out``, by checked ids; sums are of double precision."""
    wide = np.dtype(np.int64 if values.dtype.kind == "i" else np.float64)
    start = _start(reduce, wide)
    total, counts = np.full(num_segments, start, wide), REDUCERS[reduce].divisor is not None or pad != start
    count = np.zeros(num_segments if counts else 0, np.int64)
    _kernel(reduce, counts)(np.ascontiguousarray(values), ids, total, count, pad, out)
