"""CPU kernel of lodkit/ops/sequence_cumsum.py."""

from __future__ import annotations

import functools

import numpy as np

from ... import arrays
from ...arrays import matrix
from ...jit import parallel_kernel, prange, settings, simd
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_cumsum import sequence_cumsum, sum_dtype
from .primitives.reduce import reduce_rows
from .primitives.reduce_kernels import first_segment
from .primitives.softmax import tiles_where_long, strip_width


@functools.cache
def _kernel(width):
    """Kernel of running sums of W columns, in double precision, from 0 or from ``starts``, where there are some."""

    @parallel_kernel
    def kernel(values, offsets, starts, exclusive, reverse, chunk, out):
        columns, step = values.shape[1], -1 if reverse else 1
        for c in prange(offsets[-1] // chunk + 1):
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
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


def cumsum_rows(values, offsets, exclusive, reverse, out):
    """Running sums down every column of every segment, into ``out``; a long one in tiles, whose sums come first."""
    if not values.size:
        return
    wide = np.dtype(np.int64 if values.dtype.kind == "i" else np.float64)
    width, starts = strip_width(values.shape[1]), np.empty((0, 0), wide)
    long = tiles_where_long(len(values), offsets)
    if long is not None:
        offsets, owners = long
        sums = np.empty((len(offsets) - 1, values.shape[1]), wide)
        reduce_rows("sum", values, None, None, None, offsets, wide.type(0), sums)
        starts = np.empty_like(sums)
        cumsum_rows(sums, owners, True, reverse, starts)
    _kernel(width)(values.size, values, offsets, starts, exclusive, reverse, settings.chunk_rows, out)


@sequence_cumsum.kernel("cpu")
def run(x: LoDTensor, /, *, exclusive, reverse, level, out=None):
    values, offsets = x.values, x.row_offsets(level)
    out = arrays.output(values.shape, sum_dtype(values.dtype), out)
    cumsum_rows(matrix(values), offsets, bool(exclusive), bool(reverse), matrix(out))
    return x.with_values(out)
