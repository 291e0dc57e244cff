"""The template of reductions of numbers in order: a segment is a run of them, taken many at a time."""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, parallel_kernel, prange, segments_in, simd
from ....jit.reducers import REDUCERS
from ....jit.tuning import tuning
from .reduce_kernels import TILE, TOO_LONG, divide_total
from .row_access import FIRST_LEVEL

# Numbers taken at a time, in segments of up to SHORT_LANES and in longer ones.
SHORT_LANES, LANES = 32, 64


@functools.cache
def flat_kernel(reduce):
    """Kernel for numbers in order, of one dimension. It takes ``pad`` as a number, not as bits of float16.

    Prefetched into the second level, numbers take 1.05 to 1.15 times as long (emeraldrapids).
    """
    reducer = REDUCERS[reduce]
    step, zero = simd.STEPS[reducer.step], reducer.start
    first = zero is None
    masked = 0 if first else tuning.sums_ahead
    ahead = masked or tuning.numbers_ahead

    @jitable(inline=True)
    def run(values, start, stop, distance):
        """Sum a block in a fixed order: a function of its length."""
        count, rest = stop - start, simd.lane(simd.load(values, 0, start, 1), 0) if first else zero
        if count <= SHORT_LANES:
            if distance and masked:
                simd.prefetch_lanes(values, 0, min(start + masked, values.size - 1), SHORT_LANES, False, FIRST_LEVEL)
            return simd.reduce(step, simd.load_first(values, 0, start, SHORT_LANES, count, rest))
        if distance and masked:
            simd.prefetch_lanes(values, 0, min(start + masked, values.size - 1), LANES, False, FIRST_LEVEL)
        # The first vector takes the remainder, so that whole vectors follow.
        best = simd.load_first(values, 0, start, LANES, count % LANES, rest)
        for i in range(start + count % LANES, stop, LANES):
            if distance and ahead:
                simd.prefetch_lanes(values, 0, min(i + ahead, values.size - LANES), LANES, False, FIRST_LEVEL)
            best = step(best, simd.load(values, 0, i, LANES))
        return simd.reduce(step, best)

    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        numbers, out, many = values.reshape((1, values.size)), out.reshape((out.size, 1)), block * LANES
        too_long = False
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop = offsets[s], offsets[s + 1]
                if first and start == stop:
                    simd.store(out, s, 0, simd.full(out, 1, pad))
                    continue
                result = simd.widen(run(numbers, start, min(start + many, stop), distance))
                if stop - start > many:
                    # A tile takes the segment's place later. Left out by ``continue``, others took 1.1 of the time.
                    is_tile = stop - start > TILE * chunk
                    too_long |= is_tile
                    for at in range(start + many, start if is_tile else stop, many):
                        result = step(result, simd.widen(run(numbers, at, min(at + many, stop), distance)))
                total = simd.lane(simd.narrow(out, divide_total(result, float(stop - start), divisor)), 0)
                # Without a branch, where possible: 0.8 of the time with many empty segments.
                simd.store(out, s, 0, simd.full(out, 1, pad if start == stop else total))
        return TOO_LONG if too_long else 0

    return kernel


@functools.cache
def _parts(lanes):
    """The maximum of numbers from ``start`` on, and the total of their exponentials, in double precision; both by
    ``lanes`` numbers a step, and in one lane.
    """

    @jitable(inline=True)
    def read(values, i, stop):
        return simd.load_first(values, 0, i, lanes, min(lanes, stop - i), -np.inf)

    @jitable(inline=True)
    def largest(values, start, stop):
        top = read(values, start, stop)
        for i in range(start + lanes, stop, lanes):
            top = simd.larger(top, read(values, i, stop))
        return simd.reduce(simd.larger, top)

    @jitable(inline=True)
    def total(values, start, stop, top, block):
        result, shift = simd.widen(simd.full(values, lanes, 0.0)), simd.full(values, lanes, simd.lane(top, 0))
        for first in range(start, stop, block * lanes):
            partial = simd.full(values, lanes, 0.0)
            for i in range(first, min(first + block * lanes, stop), lanes):
                partial = simd.add(partial, simd.exp(simd.sub(read(values, i, stop), shift)))
            result = simd.add(result, simd.widen(partial))
        return simd.reduce(simd.add, result)

    return largest, total


@functools.cache
def flat_logsumexp_kernel():
    """Kernel of logsumexp, and of logmeanexp where it divides, of numbers in order; see ``logsumexp_kernel``."""
    (largest_few, total_few), (largest, total) = _parts(SHORT_LANES), _parts(LANES)

    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        numbers, out, too_long = values.reshape((1, values.size)), out.reshape((out.size, 1)), False
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop = offsets[s], offsets[s + 1]
                if start == stop:
                    simd.store(out, s, 0, simd.full(out, 1, pad))
                    continue
                if stop - start <= SHORT_LANES:
                    shift = simd.zero_nonfinite(largest_few(numbers, start, stop))
                    whole = total_few(numbers, start, stop, shift, block)
                elif stop - start > TILE * chunk:
                    too_long = True
                    continue
                else:
                    shift = simd.zero_nonfinite(largest(numbers, start, stop))
                    whole = total(numbers, start, stop, shift, block)
                whole = simd.narrow(out, divide_total(whole, float(stop - start), divisor))
                simd.store(out, s, 0, simd.add(simd.log(whole), simd.narrow(out, simd.widen(shift))))
        return TOO_LONG if too_long else 0

    return kernel
