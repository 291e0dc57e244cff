"""CPU kernel of lodkit/ops/sequence_cumsum.py."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import matrix, total_dtype
from ...jit import parallel_kernel, prange, segments_in, settings, simd
from .primitives.reduce import reduce_into
from .primitives.softmax import strip_width, tiles_where_long


@functools.cache
def _kernel(width):
    """Kernel of running sums of W columns, in double precision, from 0 or from ``starts``, if given."""

    @parallel_kernel
    def kernel(values, offsets, starts, exclusive, reverse, chunk, out):
        columns, step = values.shape[1], -1 if reverse else 1
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop = offsets[s], offsets[s + 1]
                for at in range(0, columns if start < stop else 0, width):
                    j = min(at, columns - width)
                    total = simd.widen(simd.full(values, width, 0))
                    if len(starts):
                        total = simd.load(starts, s, j, width)
                    i = stop - 1 if reverse else start
                    while start <= i < stop:
                        before, total = total, simd.add(total, simd.widen(simd.load(values, i, j, width)))
                        simd.store(out, i, j, before if exclusive else total)
                        i += step

    return kernel


def cumsum(values, offsets, exclusive, reverse, out):
    """Running sums down each column of each segment into ``out``; a long one in tiles, whose sums come first."""
    dtype, given, values, out = total_dtype(values.dtype), values, matrix(values), matrix(out)
    width, starts = strip_width(values.shape[1]), np.empty((0, 0), dtype)
    long = tiles_where_long(len(values), offsets)
    if long is not None:
        offsets, tile_offsets = long
        sums = matrix(reduce_into(given, None, None, None, offsets, "sum", 0, dtype=dtype))
        starts = np.empty_like(sums)
        cumsum(sums, tile_offsets, True, reverse, starts)
    _kernel(width)(values.size, values, offsets, starts, exclusive, reverse, settings.chunk_rows, out)
