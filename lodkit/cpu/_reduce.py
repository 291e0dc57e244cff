"""The one segment reduction: access (row i, or row ids[i]) x weights x reducer, over offsets.

A segment's columns are taken W at a time and stay in registers over all its rows. The last W columns may
overlap the ones before: they are computed twice, to the same bits, and nothing needs a mask. Sums run over
blocks of rows in the type of the values and add up in double precision. Segments are dealt to threads by
the rows they start at, so a long one does not hold up the others of its chunk count; a segment is never
split, so its bits do not depend on threads.
"""

from __future__ import annotations

import functools

import numpy as np

from .. import reducers, simd
from ..jit import jitable, prange, settings, threaded
from ..reducers import REDUCERS
from ._rows import first_at_least, wide

AHEAD = 16  # rows between a prefetch and its use: 1.1 to 1.4 times faster gathers than without
WIDTHS = (128, 64, 16, 4, 1)
NO_IDS, NO_WEIGHTS = np.empty(0, np.int64), np.empty(0, np.float32)
VECTOR_STEP = {reducers.plus: simd.add, reducers.larger: simd.maximum, reducers.smaller: simd.minimum}


@jitable
def first_segment(offsets, chunk, c):
    """The first segment of chunk c: segments belong to the chunk that their first row lies in."""
    return 0 if c == 0 else min(len(offsets) - 1, first_at_least(offsets, c * chunk))


@jitable
def fill(out, s, pad):
    for d in range(out.shape[1]):
        out[s, d] = pad


def _access(width, gather):
    """How a kernel finds the row of its i-th value, and asks for a later one ahead of time."""
    size = 4 * width  # bytes: all of float32's, and hardware fetches float64's other half

    if not gather:

        @jitable
        def row_of(values, ids, i, j):
            return i

        return row_of

    @jitable
    def gathered_row_of(values, ids, i, j):
        simd.rolled()
        simd.prefetch(values, ids[min(i + AHEAD, len(ids) - 1)], j, size)
        return ids[i]

    return gathered_row_of


def _sums(width, gather, weighted, padded):
    """The sum of W columns from j on: of a block of rows in the type of the values, of more in double precision."""
    row_of = _access(width, gather)

    @jitable(inline=True)
    def block_sum(values, ids, weights, padding, start, stop, j):
        result = simd.full(values, width, 0.0)
        for i in range(start, stop):
            row = row_of(values, ids, i, j)
            if padded and row == padding:
                continue
            x = simd.load(values, row, j, width)
            if weighted:
                result = simd.fma(x, simd.full(values, width, weights[i]), result)
            else:
                result = simd.add(result, x)
        return result

    @jitable
    def long_sum(values, ids, weights, padding, start, stop, j, block):
        result = simd.widen(simd.full(values, width, 0.0))
        for first in range(start, stop, block):
            stop_block = min(first + block, stop)
            result = simd.add(result, simd.widen(block_sum(values, ids, weights, padding, first, stop_block, j)))
        return result

    return block_sum, long_sum


@functools.cache
def sum_kernel(reduce, width, gather, weighted, padded):
    """Kernel of a reducer that adds up. One block, the usual case, goes around double precision: 1.2 times faster."""
    block_sum, long_sum = _sums(width, gather, weighted, padded)
    divides, divisor = reduce != "sum", jitable(REDUCERS[reduce].divisor or reducers.all_of)

    @jitable
    def put(out, s, j, total, weight):
        simd.store(out, s, j, simd.div(total, simd.like(total, divisor(weight))) if divides else total)

    @threaded
    def kernel(values, ids, weights, padding, offsets, pad, chunk, block, out):
        columns = out.shape[1]
        for c in prange(offsets[-1] // chunk + 1):
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
                start, stop = offsets[s], offsets[s + 1]
                weight = add_up(weights, start, stop) if weighted and divides else float(stop - start)
                if start == stop or weight == 0:
                    fill(out, s, pad)
                    continue
                for at in range(0, columns, width):
                    j = min(at, columns - width)
                    if stop - start <= block:
                        put(out, s, j, block_sum(values, ids, weights, padding, start, stop, j), weight)
                    else:
                        put(out, s, j, long_sum(values, ids, weights, padding, start, stop, j, block), weight)

    return kernel


@jitable
def add_up(weights, start, stop):
    result = 0.0
    for i in range(start, stop):
        result += weights[i]
    return result


@functools.cache
def extreme_kernel(reduce, width, gather, padded):
    """Kernel of max and min."""
    row_of, step = _access(width, gather), VECTOR_STEP[REDUCERS[reduce].step]

    @threaded
    def kernel(values, ids, weights, padding, offsets, pad, chunk, block, out):
        columns = out.shape[1]
        for c in prange(offsets[-1] // chunk + 1):
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
                start, stop = offsets[s], offsets[s + 1]
                if start == stop:
                    fill(out, s, pad)
                    continue
                for at in range(0, columns, width):
                    j = min(at, columns - width)
                    first = ids[start] if gather else start
                    best = simd.load(values, first, j, width)
                    if padded and first == padding:
                        best = simd.full(values, width, 0.0)
                    for i in range(start + 1, stop):
                        row = row_of(values, ids, i, j)
                        x = simd.load(values, row, j, width)
                        if padded and row == padding:
                            x = simd.full(values, width, 0.0)
                        best = step(best, x)
                    simd.store(out, s, j, best)

    return kernel


@functools.cache
def logsumexp_kernel(width):
    """Kernel of logsumexp: the maximum first, then the exponentials that it shifts; the rows are in cache by then."""

    @threaded
    def kernel(values, ids, weights, padding, offsets, pad, chunk, block, out):
        columns = out.shape[1]
        for c in prange(offsets[-1] // chunk + 1):
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
                start, stop = offsets[s], offsets[s + 1]
                if start == stop:
                    fill(out, s, pad)
                    continue
                for at in range(0, columns, width):
                    j = min(at, columns - width)
                    top = simd.load(values, start, j, width)
                    for i in range(start + 1, stop):
                        top = simd.maximum(top, simd.load(values, i, j, width))
                    shift = simd.finite(top)
                    total = simd.widen(simd.full(values, width, 0.0))
                    for first in range(start, stop, block):
                        partial = simd.full(values, width, 0.0)
                        for i in range(first, min(first + block, stop)):
                            x = simd.load(values, i, j, width)
                            partial = simd.add(partial, simd.exp(simd.sub(x, shift)))
                        total = simd.add(total, simd.widen(partial))
                    simd.store(out, s, j, simd.add(simd.log(total), simd.widen(shift)))

    return kernel


LANES = 16


@functools.cache
def flat_kernel(reduce):
    """Kernel for one column: a segment is a run of numbers, taken 16 at a time; ``values`` is ``(1, rows)``."""
    reducer = REDUCERS[reduce]
    step, scalar_step = VECTOR_STEP[reducer.step], jitable(reducer.step)
    divides, divisor = reducer.divisor is not None, jitable(reducer.divisor or reducers.all_of)

    @jitable
    def run(values, start, stop):
        """All numbers of a block, in an order that only its length decides."""
        if stop - start < LANES:
            result = simd.lane(simd.load(values, 0, start, 1), 0)
            for i in range(start + 1, stop):
                result = scalar_step(result, simd.lane(simd.load(values, 0, i, 1), 0))
            return result
        best = simd.load(values, 0, start, LANES)
        whole = stop - (stop - start) % LANES
        for i in range(start + LANES, whole, LANES):
            best = step(best, simd.load(values, 0, i, LANES))
        result = simd.lane(best, 0)
        for k in range(1, LANES):
            result = scalar_step(result, simd.lane(best, k))
        for i in range(whole, stop):
            result = scalar_step(result, simd.lane(simd.load(values, 0, i, 1), 0))
        return result

    @threaded
    def kernel(values, offsets, pad, chunk, block, out):
        for c in prange(offsets[-1] // chunk + 1):
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
                start, stop = offsets[s], offsets[s + 1]
                if start == stop:
                    fill(out, s, pad)
                    continue
                result = simd.widen(simd.load(values, 0, start, 1))
                first = run(values, start, min(start + block, stop))
                result = simd.like(result, first)
                for at in range(start + block, stop, block):
                    result = step(result, simd.like(result, run(values, at, min(at + block, stop))))
                if divides:
                    result = simd.div(result, simd.like(result, divisor(float(stop - start))))
                simd.store(out, s, 0, result)

    return kernel


@threaded
def _take(values, rows, pad, out):
    for s in prange(len(rows)):
        for d in range(out.shape[1]):
            out[s, d] = pad if rows[s] < 0 else values[rows[s], d]


@functools.cache
def argreduce_kernel(reduce):
    """Kernel of the position of the first extreme (the first NaN, where there is one)."""
    step = jitable(REDUCERS[reduce].step)

    @threaded
    def kernel(values, ids, padding, offsets, chunk, index):
        for c in prange(offsets[-1] // chunk + 1):
            best = np.empty(index.shape[1], values.dtype)
            for s in range(first_segment(offsets, chunk, c), first_segment(offsets, chunk, c + 1)):
                fill(index, s, -1)
                for i in range(offsets[s], offsets[s + 1]):
                    row = ids[i] if len(ids) else i
                    for d in range(len(best)):
                        x = values[row, d] if row != padding else values.dtype.type(0)
                        if index[s, d] < 0 or (step(best[d], x) != best[d] and best[d] == best[d]):
                            best[d], index[s, d] = x, i

    return kernel


def reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad, out):
    """Reduce the rows of every segment into ``out``.

    Parameters
    ----------
    reduce : str
    values : array of shape (rows, columns)
        C-contiguous; float16 as uint16 bits.
    ids : int64 array or None
        Which rows; all of them, in order, for None.
    weights : array or None
        One a row, with sum and mean.
    padding_idx : int or None
        Rows with this id read as zeros.
    offsets : int64 array
        Checked ones, over ids or rows.
    pad : scalar
        Of the type of ``out``; what an empty segment gives.
    out : array of shape (segments, columns)
    """
    columns = out.shape[1]
    if columns == 0 or len(offsets) == 1:
        return
    work, chunk, block = (len(values) if ids is None else len(ids)) * columns, settings.chunk_rows, settings.block_rows
    if reduce in ("first", "last"):
        row = offsets[:-1] if reduce == "first" else offsets[1:] - 1
        _take(out.size, values, np.where(offsets[1:] > offsets[:-1], row, -1), pad, out)
    elif columns == 1 and ids is None and weights is None and reduce != "logsumexp":
        flat_kernel(reduce)(work, values.reshape(1, -1), offsets, pad, chunk, block * LANES, out)
    else:
        kernel = _kernel(reduce, columns, ids is not None, weights is not None, padding_idx is not None)
        ids = NO_IDS if ids is None else ids
        weights = NO_WEIGHTS if weights is None else weights
        kernel(work, values, ids, weights, -1 if padding_idx is None else padding_idx, offsets, pad, chunk, block, out)


@functools.lru_cache(1024)
def _kernel(reduce, columns, gather, weighted, padded):
    width = next(w for w in WIDTHS if w <= columns)
    if REDUCERS[reduce].adds:
        return sum_kernel(reduce, width, gather, weighted, padded)
    return logsumexp_kernel(width) if reduce == "logsumexp" else extreme_kernel(reduce, width, gather, padded)


def argreduce_rows(reduce, values, ids, padding_idx, offsets):
    """Position (in ids, or in the rows) of the first extreme of every segment and column; -1 for an empty one."""
    values = wide(values.view(np.float16)) if values.dtype == np.uint16 else values
    index = np.empty((len(offsets) - 1, values.shape[1]), np.int64)
    padding = -1 if padding_idx is None else padding_idx
    ids = NO_IDS if ids is None else ids
    if len(index):
        argreduce_kernel(reduce)(values.size, values, ids, padding, offsets, settings.chunk_rows, index)
    return index
