"""Kernels that select from every segment: its first or last row, the positions of its extremes."""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, parallel_kernel, prange, segments_in, simd
from ....jit.reducers import REDUCERS
from .templates import fill


@functools.cache
def end_kernel(last, converts):
    """Kernel of the last row of every segment, or of the first; of another type than the result if it ``converts``."""

    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        for s in prange(len(out)):
            start, stop = offsets[s], offsets[s + 1]
            row = stop - 1 if last else start
            if len(ids) and start < stop:
                row = ids[row]
            exists = start < stop and np.uint64(row) < np.uint64(len(values))
            for d in range(out.shape[1]):
                if not exists:
                    out[s, d] = pad
                elif converts:
                    simd.store(out, s, d, simd.load(values, row, d, 1))
                else:
                    out[s, d] = values[row, d]
        return 0

    return kernel


@functools.cache
def argreduce_kernel(reduce):
    """Kernel of the position of the first extreme (the first NaN, where there is one)."""
    step = jitable(REDUCERS[reduce].step)

    @parallel_kernel
    def kernel(values, ids, padding, offsets, chunk, index):
        for c in prange(offsets[-1] // chunk + 1):
            best = np.empty(index.shape[1], values.dtype)
            for s in segments_in(offsets, chunk, c):
                fill(index, s, -1)
                for i in range(offsets[s], offsets[s + 1]):
                    row = ids[i] if len(ids) else i
                    row = row if np.uint64(row) < np.uint64(len(values)) else 0
                    for d in range(len(best)):
                        x = values[row, d] if row != padding else values.dtype.type(0)
                        if index[s, d] < 0 or (step(best[d], x) != best[d] and best[d] == best[d]):
                            best[d], index[s, d] = x, i

    return kernel
