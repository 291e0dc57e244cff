"""The templates of softmax down the columns of segments, and of its gradient.

Wide rows are taken W columns at a time, a row a step; one column is a run of numbers, LANES of them a step. The maximum
first, then the exponentials that it shifts, then the results: the segment is in cache by then.
"""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, parallel_kernel, prange, reducers, segments_in, simd
from ....jit.tuning import tuning
from .flat_kernels import LANES
from .row_access import FIRST_LEVEL

SUMS_AHEAD = tuning.sums_ahead
# The width that stands for a single column, whose values come as ``(1, rows)``.
FLAT = 0


@functools.cache
def _access(width):
    """Reader of the lanes of a step, a prefetch for later ones, a writer, the number of rows of a step, and of lanes.

    Runs of numbers are read by masked loads, which the prefetching of some CPUs does not follow (``sums_ahead``): with
    prefetches a softmax of 200,000 runs of 100 takes 0.45 of the time on znver5.
    """
    flat = width == FLAT

    @jitable(inline=True)
    def read(values, i, stop, j, rest):
        return simd.load_first(values, 0, i, LANES, stop - i, rest) if flat else simd.load(values, i, j, width)

    @jitable(inline=True)
    def fetch(values, i):
        if flat and SUMS_AHEAD:
            simd.prefetch_lanes(values, 0, min(i + SUMS_AHEAD, values.size - 1), LANES, False, FIRST_LEVEL)

    @jitable(inline=True)
    def write(out, i, stop, j, vector):
        if flat:
            simd.store_first(out, 0, i, vector, stop - i)
        else:
            simd.store(out, i, j, vector)

    return read, fetch, write, *((LANES, LANES) if flat else (1, width))


@functools.cache
def _lane_combiner(width, step):
    """Combiner of the lanes of a single column into one; columns side by side stay apart."""
    flat = width == FLAT

    @jitable
    def combine(values, v):
        return simd.reduce(step, v) if flat else v

    return combine


@functools.cache
def _lane_broadcast(width):
    """Broadcast of one lane over a run."""
    flat = width == FLAT

    @jitable
    def spread(values, one):
        return simd.full(values, LANES, simd.lane(one, 0)) if flat else one

    return spread


@jitable
def _part(x, top):
    """Term of a number in the total, for any maximum."""
    if np.isinf(top):
        return 1.0 if x == top and top > 0 else 0.0
    return np.exp(x - top)


@functools.cache
def _odd_column(flat):
    """Make the scalar path of a column with an infinite or NaN maximum; it keeps the laws of logsumexp and softmax."""
    larger = jitable(reducers.larger)

    @jitable
    def number(values, i, j):
        return simd.lane(simd.load(values, 0 if flat else i, i if flat else j, 1), 0)

    @jitable
    def column(values, start, stop, j, logs, out):
        top, total = number(values, start, j), 0.0
        for i in range(start, stop):
            top = larger(top, number(values, i, j))
        for i in range(start, stop):
            total += _part(number(values, i, j), top)
        for i in range(start, stop):
            x = number(values, i, j)
            part = _part(x, top)
            if logs and np.isfinite(top):
                y = x - top - np.log(total)
            elif logs:
                y = np.log(part / total) if part != 0 else -np.inf
            else:
                y = part / total if total != 0 else 0.0
            simd.store(out, 0 if flat else i, i if flat else j, simd.full(out, 1, y))
        return top, total

    return column


@functools.cache
def softmax_kernel(width):
    """Kernel of softmax, or with ``logs`` of its logarithm.

    ``tops`` and ``totals`` get the maximum and the total of each segment, unless they are empty. The maximum may pass
    over a NaN, whose exponential makes the total NaN.
    """
    flat = width == FLAT
    (read, fetch, write, step, lanes), along = _access(width), _lane_broadcast(width)
    largest, added, odd_column = _lane_combiner(width, simd.larger), _lane_combiner(width, simd.add), _odd_column(flat)

    @jitable
    def largest_of(values, start, stop, j):
        fetch(values, start)
        top = read(values, start, stop, j, -np.inf)
        for i in range(start + step, stop, step):
            fetch(values, i)
            top = simd.larger(top, read(values, i, stop, j, -np.inf))
        return largest(values, top)

    @jitable
    def total_of(values, start, stop, j, top, block):
        total, shift = simd.widen(simd.full(values, lanes, 0.0)), along(values, top)
        for first in range(start, stop, step * block):
            partial = simd.full(values, lanes, 0.0)
            for i in range(first, min(first + step * block, stop), step):
                partial = simd.add(partial, simd.exp(simd.sub(read(values, i, stop, j, -np.inf), shift)))
            total = simd.add(total, simd.widen(partial))
        return added(values, total)

    @jitable
    def finish(values, start, stop, j, top, total, logs, out):
        shift, less = along(values, top), along(values, simd.log(simd.narrow(values, total)))
        scale = along(values, simd.narrow(values, simd.div(simd.like(total, 1.0), total)))
        if logs:
            for i in range(start, stop, step):
                x = simd.sub(read(values, i, stop, j, 0.0), shift)
                write(out, i, stop, j, simd.sub(x, less))
        else:
            for i in range(start, stop, step):
                x = simd.sub(read(values, i, stop, j, 0.0), shift)
                write(out, i, stop, j, simd.mul(simd.exp(x), scale))

    @parallel_kernel
    def kernel(values, offsets, logs, chunk, block, tops, totals, out):
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop, columns = offsets[s], offsets[s + 1], 1 if flat else values.shape[1]
                for at in range(0, columns if start < stop else 0, lanes):
                    j = max(0, min(at, columns - lanes))
                    top = largest_of(values, start, stop, j)
                    odd = not simd.is_finite(top)
                    total = simd.widen(top)
                    if not odd:
                        total = total_of(values, start, stop, j, top, block)
                        finish(values, start, stop, j, top, total, logs, out)
                    if not odd and not len(tops):
                        continue
                    for k in range(1 if flat else lanes):
                        best, whole = np.float64(simd.lane(top, k)), simd.lane(total, k)
                        if odd:
                            best, whole = odd_column(values, start, stop, j + k, logs, out)
                        if len(tops):
                            tops[s, j + k], totals[s, j + k] = best, whole

    return kernel


@functools.cache
def rescale_kernel(logs):
    """Kernel that rescales softmaxes of tiles to their segment: each row times its tile's factor, for logs plus it."""

    @parallel_kernel
    def kernel(tiles, factors, out):
        for p in prange(len(tiles) - 1):
            for i in range(tiles[p], tiles[p + 1]):
                for d in range(out.shape[1]):
                    out[i, d] = out[i, d] + factors[p, d] if logs else out[i, d] * factors[p, d]

    return kernel


@functools.cache
def products_kernel(width, logs):
    """Kernel of ``totals[s] = sum(grad * out)`` over a segment; for logs the sum of grad where out is not -inf."""
    flat = width == FLAT
    lanes = LANES if flat else width
    total_of = _total_of(width, logs)

    @parallel_kernel
    def kernel(out, grad, offsets, chunk, block, totals):
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                for at in range(0, totals.shape[1], lanes):
                    j = max(0, min(at, totals.shape[1] - lanes))
                    total = total_of(out, grad, offsets[s], offsets[s + 1], j, block)
                    for k in range(1 if flat else lanes):
                        totals[s, j + k] = simd.lane(total, k)

    return kernel


@functools.cache
def _total_of(width, logs):
    (read, _, _, step, lanes), added = _access(width), _lane_combiner(width, simd.add)

    @jitable
    def total_of(out, grad, start, stop, j, block):
        total = simd.widen(simd.full(out, lanes, 0.0))
        for first in range(start, stop, step * block):
            partial = simd.full(out, lanes, 0.0)
            for i in range(first, min(first + step * block, stop), step):
                y, g = read(out, i, stop, j, 0.0), read(grad, i, stop, j, 0.0)
                partial = simd.add(partial, simd.zero_at_minus_inf(g, y)) if logs else simd.fma(y, g, partial)
            total = simd.add(total, simd.widen(partial))
        return added(out, total)

    return total_of


@functools.cache
def gradient_kernel(width, logs):
    """Kernel of ``(grad - total) * out``, for logs ``grad - total * exp(out)``, whose totals are added up where none
    are given.
    """
    flat = width == FLAT
    (read, _, write, step, lanes), along, total_of = _access(width), _lane_broadcast(width), _total_of(width, logs)

    @parallel_kernel
    def kernel(out, grad, offsets, chunk, block, totals, result):
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop, columns = offsets[s], offsets[s + 1], 1 if flat else out.shape[1]
                for at in range(0, columns if start < stop else 0, lanes):
                    j = max(0, min(at, columns - lanes))
                    if len(totals):
                        total = simd.load(totals, s, j, 1 if flat else lanes)
                    else:
                        total = total_of(out, grad, start, stop, j, block)
                    total = along(out, simd.narrow(out, total))
                    for i in range(start, stop, step):
                        y, g = read(out, i, stop, j, 0.0), read(grad, i, stop, j, 0.0)
                        if logs:
                            grad_x = simd.sub(simd.zero_at_minus_inf(g, y), simd.mul(simd.exp(y), total))
                        else:
                            grad_x = simd.mul(simd.sub(g, total), y)
                        write(result, i, stop, j, grad_x)

    return kernel
