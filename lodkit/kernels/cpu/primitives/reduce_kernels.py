"""The templates of the one segment reduction: access (row i, or row ids[i]) x weights x reducer, over offsets.

A segment's columns are taken W at a time and stay in registers over all its rows. The last W columns may
overlap the ones before: they are computed twice, to the same bits, and nothing needs a mask. Sums run over
blocks of rows in the type of the values and add up in double precision. Segments are dealt to threads by
the rows they start at. Each call says by what to divide (``Divisor``).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ....jit import jitable, njit, parallel_kernel, prange, segments_in, simd
from ....jit.reducers import REDUCERS, Divisor, root_of
from .templates import fill, segment_kernel

#: Functions of vectors and numbers, of which Numba makes one version without reference counts.
inline_without_nrt = jitable(inline=True, nrt=False)
TILE = 16  # chunks in a tile of a long segment
BAD_IDS, TOO_LONG = 1, 2


class Prefetch(NamedTuple):
    """How a kernel prefetches rows: not at all, if those are in the second-level cache, as it would take a third of the
    time of bags and sums (emeraldrapids). Each way has a kernel of its own: to test for it in every segment and row,
    and the registers for that, took a tenth to a third of the time of bags in the caches (znver5).

    Attributes
    ----------
    level : int
        LLVM's number of the cache that rows are prefetched into; 0 for no prefetch.
    alternate : bool
        Prefetch every second line of a row. By ids alone.
    again : bool
        Prefetch all lines of a row once more, nearer to its use. By ids alone.
    """

    level: int = 0
    alternate: bool = False
    again: bool = False


NO_PREFETCH = Prefetch()


@functools.cache
def access(width, gather, prefetch):
    """Return the row of the i-th value; prefetch rows i + distance and i + near_distance.

    The caller guarantees that they exist (``rows_left_by``). With ``gather`` rows go by ids: such a row may begin
    amid a cache line, and the line that it ends in is fetched too. (To find that out per call took longer: 20 us
    behind a table that fills the caches.)
    """
    level, alternate, again = prefetch

    @inline_without_nrt
    def row_of(values, ids, i, j, distance, near_distance):
        if level:
            simd.prefetch_lanes(values, i + distance, j, width, False, level)
        return i

    @inline_without_nrt
    def gathered_row_of(values, ids, i, j, distance, near_distance):
        simd.keep_loop_rolled()
        if alternate:
            simd.prefetch_alternate(values, ids[np.uint64(i + distance)], j, width, level)
        elif level:
            simd.prefetch_lanes(values, ids[np.uint64(i + distance)], j, width, True, level)
        if again:
            simd.prefetch_lanes(values, ids[np.uint64(i + near_distance)], j, width, True, level)
        return ids[np.uint64(i)]

    return gathered_row_of if gather else row_of


@functools.cache
def rows_left_by(gather):
    """Clamp prefetch distances to the number of rows behind a block of a segment.

    Clamped row by row, bags of 16 to 48 columns took 1.1 to 1.25 of the time (znver5); by the whole segment, a long one
    would end in rows that nobody prefetched.
    """

    @inline_without_nrt
    def rows_left(values, ids, stop, distance, near_distance):
        left = (len(ids) if gather else len(values)) - stop
        return min(distance, left), min(near_distance, left)

    return rows_left


@functools.cache
def _reader(width, gather, padded, prefetch):
    """Make a reader of W columns of the row of the i-th value: zeros of a padding row."""
    row_of = access(width, gather, prefetch)

    @inline_without_nrt
    def read(values, ids, padding, i, j, distance, near_distance):
        row = row_of(values, ids, i, j, distance, near_distance)
        if gather and np.uint64(row) >= np.uint64(len(values)):
            # Another thread wrote the id since it was checked.
            row = 0
        x = simd.load(values, row, j, width)
        return simd.full(values, width, 0.0) if padded and row == padding else x

    return read


@functools.cache
def _sums(reducer, width, gather, weighted, padded, prefetch):
    """Sum W columns from j on: a block of rows in the type of the values, more in double precision.

    Or the product: what the reducer's steps give. A padding row reads as zeros. Ids outside the table are left out and
    counted here, where they are read anyway: a pass before took 5 % of a bag's time.
    """
    row_of, step, zero = access(width, gather, prefetch), simd.STEPS[reducer.step], reducer.start
    rows_left = rows_left_by(gather)

    @inline_without_nrt
    def block_sum(values, ids, weights, padding, start, stop, j, distance, near_distance):
        distance, near_distance = rows_left(values, ids, stop, distance, near_distance)
        result, bad, i = simd.full(values, width, zero), 0, start
        while i < stop:
            row = row_of(values, ids, i, j, distance, near_distance)
            if gather and np.uint64(row) >= np.uint64(len(values)):
                bad += 1
            elif not (padded and row == padding):
                x = simd.load(values, row, j, width)
                if weighted:
                    result = simd.fma(x, simd.full(values, width, weights[i]), result)
                else:
                    result = step(result, x)
            elif zero != 0.0:
                result = step(result, simd.full(values, width, 0.0))
            i += 1
        return result, bad

    @jitable(nrt=False)
    def long_sum(values, ids, weights, padding, start, stop, j, block, distance, near_distance):
        result, bad = simd.widen(simd.full(values, width, zero)), 0
        for first in range(start, stop, block):
            last = min(first + block, stop)
            part, more = block_sum(values, ids, weights, padding, first, last, j, distance, near_distance)
            result, bad = step(result, simd.widen(part)), bad + more
        return result, bad

    return block_sum, long_sum


jitable(root_of, nrt=False)


@inline_without_nrt
def divide_total(total, weight, divisor):
    if divisor == Divisor.NOTHING:
        return total
    return simd.div(total, simd.like(total, weight if divisor == Divisor.WEIGHT else root_of(weight)))


@jitable
def weight_of(weights, start, stop):
    """Sum the weights of a segment."""
    result = 0.0
    for i in range(start, stop):
        result += weights[i]
    return result


@jitable
def count_outside(ids, start, stop, height):
    """Count ids that are no rows."""
    bad = 0
    for i in range(start, stop):
        bad += np.uint64(ids[i]) >= np.uint64(height)
    return bad


@functools.cache
def sum_kernel(reduce, width, gather, weighted, padded, divides, prefetch):
    """Kernel of a reducer that adds up, or multiplies. One block, the usual case, goes around double precision: 1.2
    times faster.

    It leaves out segments of more than TILE chunks, and rows that are outside the table. Returns TOO_LONG if there are
    such segments, else BAD_IDS if there are such ids, else 0.
    """
    block_sum, long_sum = _sums(REDUCERS[reduce], width, gather, weighted, padded, prefetch)

    @inline_without_nrt
    def quotient(total, weight, offsets, s, divisor):
        """Of a total and its weight. A length is read here: were it computed before the loop of strips, LLVM would take
        its root there, for sums too, and one of 8 columns would take 1.2 of the time.
        """
        if divisor == Divisor.NOTHING:
            return total
        return divide_total(total, weight if divides else float(offsets[s + 1] - offsets[s]), divisor)

    # As the body of a segment_kernel it takes 3 % more time, and a quarter more to compile.
    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        columns, bad, long = out.shape[1], 0, 0
        for c in prange(offsets[-1] // chunk + 1):
            for s in segments_in(offsets, chunk, c):
                start, stop = offsets[s], offsets[s + 1]
                if stop - start > TILE * chunk:
                    long += 1
                    continue
                weight = weight_of(weights, start, stop) if divides else 1.0
                if start == stop or weight == 0:
                    if gather:
                        bad += count_outside(ids, start, stop, len(values))
                    fill(out, s, pad)
                    continue
                for at in range(0, columns, width):
                    j = min(at, columns - width)
                    if stop - start <= block:
                        total, more = block_sum(values, ids, weights, padding, start, stop, j, distance, near_distance)
                        simd.store(out, s, j, quotient(total, weight, offsets, s, divisor))
                    else:
                        given = values, ids, weights, padding, start, stop, j, block, distance, near_distance
                        double, more = long_sum(*given)
                        simd.store(out, s, j, quotient(double, weight, offsets, s, divisor))
                    bad += more
        return TOO_LONG if long else BAD_IDS if bad else 0

    return kernel


@functools.cache
def extreme_kernel(reduce, width, gather, padded, prefetch):
    """Kernel of max and min, which divide by nothing."""
    read, step = _reader(width, gather, padded, prefetch), simd.STEPS[REDUCERS[reduce].step]
    read_only, rows_left = _reader(width, gather, padded, NO_PREFETCH), rows_left_by(gather)

    def body(s, start, stop, j, weight, values, ids, weights, padding, divisor, block, distance, near_distance, out):
        best = read_only(values, ids, padding, start, j, 0, 0)
        for first in range(start + 1, stop, block):
            last = min(first + block, stop)
            block_distance, block_near = rows_left(values, ids, last, distance, near_distance)
            for i in range(first, last):
                best = step(best, read(values, ids, padding, i, j, block_distance, block_near))
        simd.store(out, s, j, best)

    return segment_kernel(body, width)


@functools.cache
def logsumexp_kernel(width, gather, padded, prefetch):
    """Kernel of logsumexp, and of logmeanexp where it divides: the maximum first, then the exponentials that it shifts;
    the rows are in cache by then.

    A NaN may be passed over by the maximum: its exponential brings it back. An id that another thread has put outside
    the table since it was checked is left out: a branch, where clamping it in both passes took 1.03 times as long.
    """
    row_of, rows_left = access(width, gather, prefetch), rows_left_by(gather)

    @inline_without_nrt
    def read(values, ids, padding, i, j, block_distance, block_near):
        row = row_of(values, ids, i, j, block_distance, block_near)
        if gather and np.uint64(row) >= np.uint64(len(values)):
            return simd.full(values, width, -np.inf)
        x = simd.load(values, row, j, width)
        return simd.full(values, width, 0.0) if padded and row == padding else x

    def body(s, start, stop, j, weight, values, ids, weights, padding, divisor, block, distance, near_distance, out):
        top = simd.full(values, width, -np.inf)
        for first in range(start, stop, block):
            last = min(first + block, stop)
            block_distance, block_near = rows_left(values, ids, last, distance, near_distance)
            for i in range(first, last):
                top = simd.larger(top, read(values, ids, padding, i, j, block_distance, block_near))
        shift = simd.zero_nonfinite(top)
        total = simd.widen(simd.full(values, width, 0.0))
        for first in range(start, stop, block):
            last, partial = min(first + block, stop), simd.full(values, width, 0.0)
            block_distance, block_near = rows_left(values, ids, last, distance, near_distance)
            for i in range(first, last):
                x = read(values, ids, padding, i, j, block_distance, block_near)
                partial = simd.add(partial, simd.exp(simd.sub(x, shift)))
            total = simd.add(total, simd.widen(partial))
        # In the type of the result: for a tile of a long segment double precision, since a mean is a difference of it.
        total, shift = simd.narrow(out, divide_total(total, weight, divisor)), simd.narrow(out, simd.widen(shift))
        simd.store(out, s, j, simd.add(simd.log(total), shift))

    return segment_kernel(body, width)


@njit
def divide_rows(total, weight, pad, divisor, logs, out):
    """Make means of sums, ``out = total / weight`` or its root; where it ``logs``, of a logsumexp."""
    for s in range(len(weight)):
        if weight[s] == 0:
            fill(out, s, pad)
            continue
        for d in range(out.shape[1]):
            x = simd.load(total, s, d, 1)
            if logs:
                simd.store(out, s, d, simd.sub(x, simd.log(simd.like(x, weight[s]))))
            else:
                simd.store(out, s, d, divide_total(x, weight[s], divisor))
