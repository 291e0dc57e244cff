"""Template of kernels over rows and their segments, as of the gradients of reductions."""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, elementwise, vector
from ....jit import simd
from .reduce_kernels import WARP, combine_lanes, reader

# Rows that a group of threads takes one after another: it searches for the segment of the first only.
RUN = 16


@device
def lower_bound(numbers, low, high, number):
    """The first place from ``low`` on where ascending numbers are at least ``number``; ``high`` where none is."""
    while low < high:
        middle = (low + high) >> 1
        if vector.number(numbers, middle) < number:
            low = middle + 1
        else:
            high = middle
    return low


@device
def segment_of(offsets, segments, row):
    """The segment that a row belongs to."""
    return lower_bound(offsets, 1, segments + 1, row + 1) - 1


@device
def advance(offsets, s, row):
    """The segment of a row that lies in segment s or behind it."""
    while vector.number(offsets, s + 1) <= row:
        s += 1
    return s


def row_kernel(body, width=1):
    """Kernel of ``body`` for W columns of every row, with the segment that the row is in."""
    body = device(body)

    @cuda.jit
    def kernel(a, b, c, ids, offsets, padding, height, columns, bits, segments, rows, out):
        thread = cuda.grid(1)
        first, lane = (thread >> bits) * RUN, thread & ((1 << bits) - 1)
        while first < rows:
            s = segment_of(offsets, segments, first)
            for i in range(first, min(first + RUN, rows)):
                s = advance(offsets, s, i)
                j = lane * width
                while j < columns:
                    body(i, s, j, a, b, c, ids, offsets, padding, height, columns, out)
                    j += width << bits
            first += (cuda.gridsize(1) >> bits) * RUN

    return kernel


@functools.cache
def spread_kernel(width, weighted, divisor, root):
    """``out[i] = grad[s] * (weights[i] / (totals[s], or the length of s))``: a = grad, b = weights, c = totals."""
    divides, by_totals = divisor is not None, divisor == "totals"

    def spread(i, s, j, grad, weights, totals, ids, offsets, padding, height, columns, out):
        x = vector.load(grad, s * columns + j, width)
        factor = simd.like(x, vector.number(weights, i)) if weighted else simd.like(x, 1)
        if divides:
            by = simd.like(x, totals[s] if by_totals else offsets[s + 1] - offsets[s])
            factor = simd.div(factor, simd.sqrt(by) if root else by)
        # Fused updates multiply in this order.
        x = simd.mul(x, factor)
        if by_totals and totals[s] == 0:
            x = simd.like(x, 0)
        vector.store(out, i * columns + j, x)

    return row_kernel(spread, width)


@functools.cache
def place_kernel(which):
    """The gradient to one row of a segment, zeros to the others: a = grad, b = where, for each column."""

    @device
    def is_chosen(i, s, at, where, offsets):
        if which == 0:
            return i == offsets[s]
        return i == offsets[s + 1] - 1 if which == 1 else i == vector.number(where, at)

    def place(i, s, j, grad, where, unused, ids, offsets, padding, height, columns, out):
        at = s * columns + j
        vector.store(out, i * columns + j, vector.load_where(is_chosen(i, s, at, where, offsets), grad, at, 1))

    return row_kernel(place)


@functools.cache
def map_kernel(step, width=1, is_number=False):
    """``out[i] = step(x[i], values[s])``, with an item or a number per segment: a = x, b = values."""

    def apply(i, s, j, x, values, unused, ids, offsets, padding, height, columns, out):
        lanes = vector.load(x, i * columns + j, width)
        by = simd.like(lanes, vector.number(values, s)) if is_number else vector.load(values, s * columns + j, width)
        vector.store(out, i * columns + j, step(lanes, by))

    return row_kernel(apply, width)


@functools.cache
def zip_kernel(step, width):
    """``out[i] = step(x[i], y[i])``: a = x, b = y."""

    def apply(i, s, j, x, y, unused, ids, offsets, padding, height, columns, out):
        at = i * columns + j
        vector.store(out, at, step(vector.load(x, at, width), vector.load(y, at, width)))

    return row_kernel(apply, width)


@device
def exponential(x, top):
    """``exp(x - top)``, 1 for the infinite of an infinite top, else 0."""
    number, most = simd.lane(x, 0), simd.lane(top, 0)
    share = simd.exp(simd.sub(x, simd.zero_nonfinite(top)))
    # True if the maximum is infinite or NaN.
    if most - most != 0:
        share = simd.like(x, 1 if number == most and most > 0 else 0)
        if most != most:
            share = top
    return share


@device
def share_of(x, total):
    """``x / total``, 0 where the total is."""
    share = simd.div(x, total)
    return simd.like(share, 0) if simd.lane(total, 0) == 0 else share


@row_kernel
def shares_kernel(i, s, j, grad, exponentials, totals, ids, offsets, padding, height, columns, out):
    """``grad[s] * x[i] / total[s]``, 0 where the total is: a = grad, b = exponentials, c = their totals."""
    at = s * columns + j
    x, total = vector.load(exponentials, i * columns + j, 1), vector.load(totals, at, 1)
    result = simd.mul(vector.load(grad, at, 1), simd.div(x, total))
    if simd.lane(total, 0) == 0:
        result = simd.like(result, 0)
    vector.store(out, i * columns + j, result)


@elementwise
def product_of_others(at, values, grad, offsets, columns, before, out):
    """``out[i] = grad[s]`` times the product of the segment's other rows: a thread goes a column down, and up again."""
    s, j = at // columns, at % columns
    product = vector.load(grad, at, 1)
    for i in range(vector.number(offsets, s), vector.number(offsets, s + 1)):
        vector.store(before, i * columns + j, product)
        product = simd.mul(product, vector.load(values, i * columns + j, 1))
    product, i = simd.like(product, 1), vector.number(offsets, s + 1) - 1
    while i >= vector.number(offsets, s):
        place = i * columns + j
        vector.store(out, place, simd.mul(vector.load_written(before, place, 1), product))
        product = simd.mul(product, vector.load(values, place, 1))
        i -= 1


@functools.cache
def products_kernel(gather, centred):
    """Each row's sum of ``x[i] * grad[s]``, or of ``(x[i] - base[s]) * grad[s] / totals[s]``: a warp takes a row."""
    read, combine = reader(1, gather), combine_lanes(simd.add, WARP)

    @cuda.jit
    def kernel(values, ids, base, grad, totals, offsets, padding, height, columns, segments, rows, out):
        i, lane = cuda.grid(1) >> 5, cuda.grid(1) & 31
        while i < rows:
            s = segment_of(offsets, segments, i)
            total, j = simd.full(values, 1, 0), lane
            while j < columns:
                x, at = read(values, ids, i, j, columns, height, padding, ids), s * columns + j
                if centred:
                    x = simd.sub(x, vector.load(base, at, 1))
                total = simd.fma(x, vector.load(grad, at, 1), total)
                j += WARP
            total = combine(total)
            if centred:
                total = simd.div(total, simd.like(total, totals[s])) if totals[s] != 0 else simd.like(total, 0)
            if lane == 0:
                vector.store(out, i, total)
            i += cuda.gridsize(1) >> 5

    return kernel
