"""The template of the one segment reduction: access (row i, or row ids[i]) x weights x reducer, over offsets.

A group of threads takes a segment: each W of its columns, which stay in registers over all the segment's rows, in
order. Rows of one column are taken by the 32 lanes of a warp in turn, which then combine their results. Nothing is
added atomically: the bits of a result depend on the lengths alone.
"""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, vector
from ....jit import simd
from ....jit.reducers import REDUCERS

WARP = 32
FULL_WARP_MASK = 0xFFFFFFFF


def reader(width, gather, reports_bad_ids=False):
    """Reader of the columns from j on of the i-th row. An id outside, or ``padding``, reads as zeros.

    With ``reports_bad_ids`` it writes the first i whose id is outside to ``first_bad[0]``, initially -1; without,
    ``first_bad`` may be any array.
    """

    @device
    def read(values, ids, i, j, columns, height, padding, first_bad):
        if not gather:
            return vector.load(values, i * columns + j, width)
        row = vector.number(ids, i)
        inside = (row >= 0) & (row < height)
        if reports_bad_ids and not inside:
            vector.atomic_first(first_bad, 0, i)
        return vector.load_where(inside & (row != padding), values, row * columns + j, width)

    return read


def combine_lanes(step, stride):
    """Combine the values of a warp's lanes, where a warp shares a segment; every lane gets the result."""
    if stride == 1:
        return device(lambda x: x)

    @device
    def combine(x):
        x = step(x, simd.like(x, cuda.shfl_xor_sync(FULL_WARP_MASK, simd.lane(x, 0), 16)))
        x = step(x, simd.like(x, cuda.shfl_xor_sync(FULL_WARP_MASK, simd.lane(x, 0), 8)))
        x = step(x, simd.like(x, cuda.shfl_xor_sync(FULL_WARP_MASK, simd.lane(x, 0), 4)))
        x = step(x, simd.like(x, cuda.shfl_xor_sync(FULL_WARP_MASK, simd.lane(x, 0), 2)))
        return step(x, simd.like(x, cuda.shfl_xor_sync(FULL_WARP_MASK, simd.lane(x, 0), 1)))

    return combine


def fold_of(step, zero, width, stride, gather, weighted=False, reports_bad_ids=False):
    """Fold of the rows by ``step``, from ``zero`` on, or from the first row if that is None: a sum, an extreme."""
    read, combine = reader(width, gather, reports_bad_ids), combine_lanes(step, stride)
    from_first, zero = zero is None, 0 if zero is None else zero

    @device
    def fold(values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad):
        result = simd.full(values, width, zero)
        if from_first:
            result = read(values, ids, start, j, columns, height, padding, first_bad)
        i = begin
        while i < stop:
            x = read(values, ids, i, j, columns, height, padding, first_bad)
            if weighted:
                result = simd.fma(x, simd.like(x, vector.number(weights, i)), result)
            else:
                result = step(result, x)
            i += stride
        return combine(result)

    return fold


def _logsumexp(width, stride, gather, weighted, reports_bad_ids, divides):
    """The maximum first, then the exponentials: 363 us on an H200, where one pass, with two of them a row, took 501.

    A mean divides their total by ``by``: to subtract the logarithm of that would cancel. Tiles have ``weights``.
    """
    read, combine = reader(width, gather), combine_lanes(simd.add, stride)
    largest = fold_of(simd.maximum, None, width, stride, gather, reports_bad_ids=reports_bad_ids)

    @device
    def logsumexp(by, values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad):
        top = largest(values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad)
        shift, total = simd.zero_nonfinite(top), simd.full(values, width, 0)
        i = begin
        while i < stop:
            x = read(values, ids, i, j, columns, height, padding, first_bad)
            if weighted:
                total = simd.fma(simd.exp(simd.sub(x, shift)), simd.like(x, vector.number(weights, i)), total)
            else:
                total = simd.add(total, simd.exp(simd.sub(x, shift)))
            i += stride
        total = combine(total)
        return simd.add(simd.log(simd.div(total, by) if divides else total), shift)

    return logsumexp


def _end(last, width, gather):
    read = reader(width, gather)

    @device
    def end(values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad):
        return read(values, ids, stop - 1 if last else start, j, columns, height, padding, first_bad)

    return end


def _body(reduce, width, stride, gather, weighted, reports_bad_ids, divides):
    """The reduction of a segment, divided by ``by``, the weight of its rows, where it ``divides``."""
    if reduce in ("logsumexp", "logmeanexp"):
        return _logsumexp(width, stride, gather, weighted, reports_bad_ids, divides)
    root = reduce == "sqrt"
    if reduce in ("first", "last"):
        total_of = _end(reduce == "last", width, gather)
    else:
        reducer = REDUCERS[reduce]
        total_of = fold_of(simd.STEPS[reducer.step], reducer.start, width, stride, gather, weighted, reports_bad_ids)

    @device
    def body(by, values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad):
        total = total_of(values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad)
        if not divides:
            return total
        return simd.div(total, simd.sqrt(by) if root else by)

    return body


@functools.cache
def reduce_kernel(reduce, width, stride, gather, weighted, divisor, reports_bad_ids=False):
    """The kernel of a reduction.

    Parameters
    ----------
    reduce : str
    width : int
        Elements that a thread takes at once.
    stride : int
        1, or 32 where a warp shares the rows of a segment: then there is one column.
    gather, weighted : bool
    divisor : str or None
        Divisor of a sum: ``"rows"``, the differences of the offsets ``rows``, or ``"totals"``, an array.
    reports_bad_ids : bool
        Write the first position of an id outside to ``first_bad[0]``, initially -1.
    """
    divides, by_totals = divisor is not None, divisor == "totals"
    body = _body(reduce, width, stride, gather, weighted, reports_bad_ids, divides)

    @cuda.jit
    def kernel(
        values, ids, weights, totals, rows, offsets, pad, padding, height, columns, bits, segments, first_bad, out
    ):
        thread = cuda.grid(1)
        s, lane = thread >> bits, thread & ((1 << bits) - 1)
        while s < segments:
            start, stop = offsets[s], offsets[s + 1]
            begin, j = (start + lane, 0) if stride > 1 else (start, lane * width)
            while j < columns:
                result = simd.full(values, width, pad)
                if start < stop and (not by_totals or totals[s] != 0):
                    by = result
                    if divides:
                        by = simd.like(result, totals[s] if by_totals else rows[s + 1] - rows[s])
                    result = body(by, values, ids, weights, start, begin, stop, j, columns, height, padding, first_bad)
                if stride == 1 or lane == 0:
                    vector.store(out, s * columns + j, result)
                j += width << bits
            s += cuda.gridsize(1) >> bits

    return kernel
