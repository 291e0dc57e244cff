"""CUDA kernels of lodkit/ops/sequence_cumsum.py. Long segments go in tiles: their sums first, then all at once."""

from __future__ import annotations

import functools

from ...arrays.cuda import cuda, device, launch, vector
from ...jit import simd
from .primitives.offsets import Offsets, offsets_like
from .primitives.reduce import group_of, reduce_rows, width_of
from .primitives.reduce_kernels import FULL_WARP_MASK, WARP


@device
def _scan_warp(x, lane):
    """The sum over this lane and those before it."""
    for k in range(5):
        below = cuda.shfl_up_sync(FULL_WARP_MASK, simd.lane(x, 0), 1 << k)
        if lane >= 1 << k:
            x = simd.add(x, simd.like(x, below))
    return x


@functools.cache
def _column_kernel(exclusive, reverse, given):
    """One column: one warp per segment, 32 rows at a time."""

    @cuda.jit
    def kernel(values, offsets, starts, segments, out):
        s, lane = cuda.grid(1) >> 5, cuda.grid(1) & (WARP - 1)
        while s < segments:
            start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
            total = vector.load_where(given, starts, s, 1)
            k = lane
            while k - lane < stop - start:
                i = stop - 1 - k if reverse else start + k
                x = vector.load_where(k < stop - start, values, i, 1)
                upto = _scan_warp(x, lane)
                before = cuda.shfl_up_sync(FULL_WARP_MASK, simd.lane(upto, 0), 1)
                everything = cuda.shfl_sync(FULL_WARP_MASK, simd.lane(upto, 0), WARP - 1)
                if exclusive:
                    upto = simd.like(upto, before if lane > 0 else 0)
                if k < stop - start:
                    vector.store(out, i, simd.add(total, upto))
                total = simd.add(total, simd.like(total, everything))
                k += WARP
            s += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def _rows_kernel(width, exclusive, reverse, given):
    """One group of threads per segment, each with W of its columns, which stay in registers."""

    @cuda.jit
    def kernel(values, offsets, starts, columns, bits, segments, out):
        thread = cuda.grid(1)
        s, lane = thread >> bits, thread & ((1 << bits) - 1)
        while s < segments:
            start, stop, j = vector.number(offsets, s), vector.number(offsets, s + 1), lane * width
            while j < columns:
                total = vector.load_where(given, starts, s * columns + j, width)
                for k in range(stop - start):
                    i = stop - 1 - k if reverse else start + k
                    x = vector.load(values, i * columns + j, width)
                    upto = simd.add(total, x)
                    vector.store(out, i * columns + j, total if exclusive else upto)
                    total = upto
                j += width << bits
            s += cuda.gridsize(1) >> bits

    return kernel


def cumsum(values, offsets, exclusive, reverse, out):
    """Running sums down each column of each segment into ``out``; a long one in tiles, whose sums come first."""
    offsets = offsets_like(values, offsets)
    starts, given = values.like((1,), values.compute_dtype), offsets.tiles is not None
    if given:
        tiles, shape = offsets.tiles, (len(offsets.tiles) - 1, *values.shape[1:])
        sums, starts = values.like(shape, values.compute_dtype), values.like(shape, values.compute_dtype)
        reduce_rows("sum", values, None, None, None, Offsets(tiles, offsets.rows), 0, sums)
        cumsum(sums, offsets.tile_offsets, True, reverse, starts)
        offsets = Offsets(tiles, offsets.rows)
    segments, columns = len(offsets), values.columns
    if columns == 1:
        kernel = _column_kernel(exclusive, reverse, given)
        launch(kernel, segments * WARP, values, offsets.offsets, starts, segments, out)
        return
    width = width_of(columns, values, out)
    bits = group_of(columns, width)
    kernel = _rows_kernel(width, exclusive, reverse, given)
    launch(kernel, segments << bits, values, offsets.offsets, starts, columns, bits, segments, out)
