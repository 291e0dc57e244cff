"""The templates of the one segment reduction: access (row i, or row ids[i]) x weights x reducer, over offsets.

A segment's columns are taken W at a time and stay in registers over all its rows. The last W columns may
overlap the ones before: they are computed twice, to the same bits, and nothing needs a mask. Sums run over
blocks of rows in the type of the values and add up in double precision. Segments are dealt to threads by
the rows they start at. Each call says by what to divide (``Divisor``).
"""

from __future__ import annotations

import functools

import numpy as np

from ....base.float8 import FLOAT8
from ....jit import jitable, njit, parallel_kernel, prange, segments_in, simd
from ....jit.reducers import REDUCERS, Divisor, root_of
from ....jit.tuning import tuning
from ....lod.packed_rows import CODE_BITS, PARAMS_BYTES
from .row_access import (
    FIRST_LEVEL,
    NO_PREFETCH,
    Prefetch,
    access,
    bound_row,
    float8_row_adder,
    inline_without_nrt,
    packed_row_adder,
    row_adder,
    row_reader,
    rows_left_by,
    scale_prefetch,
)
from .templates import fill

TILE = 16  # chunks in a tile of a long segment
NARROW = 32  # columns of a row of two cache lines of float32
NARROW_BYTES = 128  # of a packed row of two cache lines
# Of several threads' states the largest is that of a call.
TOO_LONG, BAD_IDS = 1, 2


jitable(root_of, nrt=False)


@inline_without_nrt
def divide_total(total, weight, divisor):
    if divisor == Divisor.NOTHING:
        return total
    return simd.div(total, simd.like(total, weight if divisor == Divisor.WEIGHT else root_of(weight)))


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


@jitable
def weight_of(weights, start, stop):
    """Sum the weights of a segment."""
    result = 0.0
    for i in range(start, stop):
        result += weights[i]
    return result


@jitable
def weight_of_first(weights, start, stop):
    """Sum the weights of a segment of rows in float8, beside which their scales stand."""
    return weight_of(weights[0], start, stop)


@jitable(nrt=False)
def has_bad_id(ids, start, stop, height):
    """Whether some ids are no rows: a loop that LLVM vectorises. As unsigned numbers negative ids are huge.

    Ids that were just read are in the cache: looked at before, bags of 8 and 16 columns took 1.09 of the time (znver5).
    """
    bad = False
    for i in range(np.uint64(start), np.uint64(stop)):
        bad |= np.uint64(ids[i]) >= np.uint64(height)
    return bad


@jitable(nrt=False)
def are_single(offsets, start, stop):
    """Whether each of some segments has one row: a loop that LLVM vectorises, over offsets that are read next."""
    if offsets[stop] - offsets[start] != stop - start:
        return False
    others = False
    for s in range(np.uint64(start), np.uint64(stop)):
        others |= offsets[s + np.uint64(1)] - offsets[s] != 1
    return not others


@inline_without_nrt
def state_of(too_long, bad):
    """What a kernel returns: BAD_IDS where an id is no row, TOO_LONG where it has left segments out, else 0."""
    return BAD_IDS if bad else TOO_LONG if too_long else 0


@functools.cache
def sum_kernel(reduce, width, gather, weighted, prefetch, bits=None):
    """Kernel of a reducer that adds up, or multiplies; of packed rows, in ``bits`` or a format of float8, sums.

    A block of rows is summed in the type of the values, more of them in double precision. Segments of one block, the
    usual case, have a loop without calls, around which its registers would be spilled. Longer ones are reduced in their
    place: after all others, rows in order took 1.15 of the time (znver4). Those of more than TILE chunks are left out.
    Chunks of single rows, as a look-up of one id a bag has, have a loop of their own: 0.6 of the time
    (znver5).
    """
    reducer, bound, rows_left = REDUCERS[reduce], bound_row(gather), rows_left_by(gather)
    step, zero, each = simd.STEPS[reducer.step], reducer.start, 8 // CODE_BITS[bits] if bits else 1
    in_float8 = bits in FLOAT8
    adder = float8_row_adder if in_float8 else packed_row_adder if bits else row_adder
    lanes_of, add_row = adder(bits or step, width, gather, weighted)
    weight, fetch_scale = weight_of_first if in_float8 else weight_of, scale_prefetch(in_float8 and prefetch.level > 0)
    lanes_read = width * CODE_BITS[bits] // 8 + PARAMS_BYTES[bits] if bits else width
    row_of, narrow = access(lanes_read, gather, prefetch), lanes_read <= (NARROW_BYTES if bits else NARROW)
    single = tuning.single_rows_ahead if prefetch.again and narrow else 0
    single_row_of = access(lanes_read, gather, Prefetch(FIRST_LEVEL) if single else prefetch)

    @inline_without_nrt
    def sum_block(values, ids, weights, padding, start, stop, j, distance, near_distance):
        distance, near_distance = rows_left(values, ids, stop, distance, near_distance)
        result, i = lanes_of(values, weights, zero), start
        while i < stop:
            row = row_of(values, ids, i, j // each, distance, near_distance)
            fetch_scale(weights, ids, i + distance)
            if not (gather and row == padding):
                result = add_row(result, values, weights, i, bound(values, row), j)
            elif zero != 0.0:
                result = step(result, lanes_of(values, weights, 0.0))
            i += 1
        return result

    @inline_without_nrt
    def weigh(weights, start, stop, divisor):
        """The weight of a segment, which divides its total."""
        return weight(weights, start, stop) if weighted and divisor != Divisor.NOTHING else float(stop - start)

    @inline_without_nrt
    def put(out, s, j, total):
        simd.store(out, s, j, simd.transpose(total, each) if each > 1 else total)

    @jitable(nrt=False)
    def sum_long(values, ids, weights, padding, s, start, stop, pad, divisor, block, ahead, out):
        """Reduce a segment of more than a block."""
        weight = weigh(weights, start, stop, divisor)
        if weight == 0:
            fill(out, s, pad)
            return
        for at in range(0, out.shape[1], width):
            j = min(at, out.shape[1] - width)
            total = simd.widen(lanes_of(values, weights, zero))
            for i in range(start, stop, block):
                part = sum_block(values, ids, weights, padding, i, min(i + block, stop), j, *ahead)
                total = step(total, simd.widen(part))
            put(out, s, j, divide_total(total, weight, divisor))

    @jitable(nrt=False)
    def sum_singles(values, ids, weights, padding, offsets, first, last, block, ahead, out):
        """Reduce segments of one row each, by whose weight 1 nothing is divided. A sum of -0.0 is 0.0, so rows are no
        copies.
        """
        before = offsets[first] - first
        for at in range(first, last, block):
            stop = min(at + block, last)
            distance, near_distance = rows_left(values, ids, before + stop, single or ahead[0], ahead[1])
            for s in range(at, stop):
                for left in range(0, out.shape[1], width):
                    j, total = min(left, out.shape[1] - width), lanes_of(values, weights, zero)
                    row = single_row_of(values, ids, before + s, j // each, distance, near_distance)
                    fetch_scale(weights, ids, before + s + distance)
                    if not (gather and row == padding):
                        total = add_row(total, values, weights, before + s, bound(values, row), j)
                    elif zero != 0.0:
                        total = lanes_of(values, weights, 0.0)
                    put(out, s, j, total)

    @inline_without_nrt
    def reduce_range(values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, first, last, out):
        columns, bad, too_long, s = out.shape[1], False, False, first
        distance, near_distance = ahead
        if not weighted and are_single(offsets, s, last):
            sum_singles(values, ids, weights, padding, offsets, s, last, block, ahead, out)
            s = last
        while s < last:
            # Unsigned indices skip Numba's branch for negative ones, 0.3 ns a segment.
            start, stop = offsets[np.uint64(s)], offsets[np.uint64(s + 1)]
            while stop - start <= block:
                weight = weigh(weights, start, stop, divisor)
                if start == stop or weight == 0:
                    fill(out, s, pad)
                else:
                    for at in range(0, columns, width):
                        j = min(at, columns - width)
                        total = sum_block(values, ids, weights, padding, start, stop, j, distance, near_distance)
                        put(out, s, j, divide_total(total, weight, divisor))
                s += 1
                if s == last:
                    break
                start, stop = stop, offsets[np.uint64(s + 1)]
            else:
                if stop - start > TILE * chunk:
                    too_long = True
                else:
                    sum_long(values, ids, weights, padding, s, start, stop, pad, divisor, block, ahead, out)
                s += 1
        if gather:
            bad |= has_bad_id(ids, offsets[first], offsets[last], len(values))
        return state_of(too_long, bad)

    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        state, ahead = 0, (distance, near_distance)
        for c in prange(offsets[-1] // chunk + 1):
            part = segments_in(offsets, chunk, c)
            found = reduce_range(
                values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, part.start, part.stop, out
            )
            state = max(state, found)
        return state

    kernel.reduce_range = reduce_range
    return kernel


@functools.cache
def extreme_kernel(reduce, width, gather, prefetch):
    """Kernel of max and min, which divide by nothing."""
    read, step = row_reader(width, gather, prefetch), simd.STEPS[REDUCERS[reduce].step]
    read_only, rows_left = row_reader(width, gather, NO_PREFETCH), rows_left_by(gather)

    def body(values, ids, padding, s, start, stop, j, divisor, block, distance, near_distance, out):
        best = read_only(values, ids, padding, start, j, 0, 0)
        for first in range(start + 1, stop, block):
            last = min(first + block, stop)
            block_distance, block_near = rows_left(values, ids, last, distance, near_distance)
            for i in range(first, last):
                best = step(best, read(values, ids, padding, i, j, block_distance, block_near))
        simd.store(out, s, j, best)

    return segment_kernel(body, width, gather)


@functools.cache
def logsumexp_kernel(width, gather, prefetch):
    """Kernel of logsumexp, and of logmeanexp where it divides: the maximum first, then the exponentials that it shifts;
    the rows are in cache by then.

    A NaN may be passed over by the maximum: its exponential brings it back.
    """
    read, rows_left = row_reader(width, gather, prefetch), rows_left_by(gather)

    def body(values, ids, padding, s, start, stop, j, divisor, block, distance, near_distance, out):
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
        total = simd.narrow(out, divide_total(total, float(stop - start), divisor))
        simd.store(out, s, j, simd.add(simd.log(total), simd.narrow(out, simd.widen(shift))))

    return segment_kernel(body, width, gather)


def segment_kernel(body, width, gather):
    """Make a kernel of ``body(values, ids, padding, s, start, stop, j, divisor, block, distance, near_distance, out)``,
    which reduces W columns from j on of the rows of segment s.
    """
    body = inline_without_nrt(body)

    @inline_without_nrt
    def reduce_range(values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, first, last, out):
        columns, bad, too_long = out.shape[1], False, False
        distance, near_distance = ahead
        for s in range(first, last):
            start, stop = offsets[s], offsets[s + 1]
            if stop - start > TILE * chunk:
                too_long = True
                continue
            if start == stop:
                fill(out, s, pad)
                continue
            for at in range(0, columns, width):
                j = min(at, columns - width)
                body(values, ids, padding, s, start, stop, j, divisor, block, distance, near_distance, out)
        if gather:
            bad |= has_bad_id(ids, offsets[first], offsets[last], len(values))
        return state_of(too_long, bad)

    @parallel_kernel
    def kernel(values, ids, weights, padding, offsets, pad, divisor, chunk, block, distance, near_distance, out):
        state, ahead = 0, (distance, near_distance)
        for c in prange(offsets[-1] // chunk + 1):
            part = segments_in(offsets, chunk, c)
            found = reduce_range(
                values, ids, weights, padding, offsets, pad, divisor, chunk, block, ahead, part.start, part.stop, out
            )
            state = max(state, found)
        return state

    kernel.reduce_range = reduce_range
    return kernel
