"""CUDA kernels of lodkit/ops/sequence_conv.py: windows side by side, and the array library's matrix product."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays.cuda import convert, copy_elements, cuda, elementwise, fill, launch, vector, view
from ...jit import simd
from ...ops.sequence_conv import clip_start, uses_of_padding
from .primitives.offsets import offsets_like
from .primitives.reduce import group_of, reduce_rows, width_of
from .primitives.row_kernels import advance, segment_of

BLOCK = 1 << 28  # bytes of windows at once
CHUNK = 64  # rows that one thread correlates


@functools.cache
def _window_kernel(width, has_pads):
    """Step k of row t's window: a row of its sequence, of the padding before or behind it, or zeros."""

    @cuda.jit
    def kernel(x, pads, offsets, segments, start, length, first, columns, bits, n, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            row = first + i // length
            s, at = segment_of(offsets, segments, row), row + start + i % length
            begin, end = vector.number(offsets, s), vector.number(offsets, s + 1)
            there = (at >= begin) & (at < end)
            edge = max(0, -start) + (at - begin if at < begin else at - end)
            j = lane * width
            while j < columns:
                value = vector.load_where(there, x, at * columns + j, width)
                if has_pads and not there:
                    value = vector.load(pads, edge * columns + j, width)
                vector.store(out, i * columns + j, value)
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def _blocks(x, pads, offsets, start, length):
    """First row and end of each block, and the windows of its rows."""
    columns = x.columns
    start = clip_start(start, length, len(x)) if pads is None else start
    step = max(1, BLOCK // max(1, length * columns * x.dtype.itemsize))
    for first in range(0, len(x), step):
        stop = min(first + step, len(x))
        out = x.like((stop - first, length * columns))
        if out.size:
            sources = [x] if pads is None else [x, pads]
            width = width_of(columns, *sources, out)
            bits, n = group_of(columns, width), (stop - first) * length
            numbers = len(offsets) - 1, start, length, first, columns, bits, n
            launch(_window_kernel(width, pads is not None), n << bits, x, sources[-1], offsets, *numbers, out)
        yield first, stop, out.array


def _product(x, pads, offsets, start, length, weight, out):
    """``out[t]`` is the window of row t times ``weight``, rounded to the type of ``out``."""
    xp = x.library.namespace()
    for first, stop, windows in _blocks(x, pads, offsets, start, length):
        copy_elements(view(xp.matmul(windows, weight)), out.part(first, stop))


def _contiguous_rows(array):
    """Rows to compute with; None stays None."""
    if array is None:
        return None
    dtype = array.compute_dtype if array.dtype == np.float16 else array.dtype
    return convert(array, dtype).reshape(len(array), array.columns)


def convolve(x, weight, pads, offsets, start, length, out):
    """``out[t]`` is the window of row t times ``weight``."""
    sent = offsets_like(x, offsets).offsets
    _product(_contiguous_rows(x), _contiguous_rows(pads), sent, start, length, _contiguous_rows(weight).array, out)


def convolve_grad(x, weight, pads, offsets, start, length, grad):
    """Gradients of ``convolve`` by the rows, the weight and the padding, if given."""
    xp, dtype, sent = x.library.namespace(), x.dtype, offsets_like(x, offsets).offsets
    values, weight, by_x = _contiguous_rows(x), _contiguous_rows(weight), x.like(x.shape)
    g = convert(grad, values.dtype)
    by_weight = fill(values.like(weight.shape, np.float64), 0).array
    for first, stop, windows in _blocks(values, _contiguous_rows(pads), sent, start, length):
        share = xp.matmul(xp.permute_dims(xp.asarray(windows), (1, 0)), g.part(first, stop).array)
        by_weight = xp.asarray(by_weight) + xp.astype(share, xp.float64)
    steps = xp.permute_dims(xp.reshape(weight.array, (length, values.columns, weight.columns)), (0, 2, 1))
    # A row gets from each row that sees it, through that step's part of the weight: a convolution backwards.
    shape = length * weight.columns, values.columns
    back = xp.reshape(xp.flip(steps, axis=0), shape)
    _product(g, None, sent, 1 - start - length, length, back, by_x.reshape(values.shape))
    by_weight = convert(view(by_weight), dtype)
    if pads is None:
        return by_x, by_weight
    rows, ends = uses_of_padding(offsets, start, length)
    uses = values.like((len(ends) - 1, weight.columns))
    reduce_rows("sum", g, values.send(rows), None, None, offsets_like(values, ends), 0, uses)
    uses = uses.reshape(len(pads), length * weight.columns)
    by_pads = xp.reshape(xp.matmul(uses.array, xp.reshape(steps, shape)), pads.shape)
    return by_x, by_weight, convert(view(by_pads), dtype)


@functools.cache
def _look_kernel(width):
    """``out[t]`` is the sum of ``factors[k] * x[t + k * step]`` inside t's sequence; ``step`` is 1 or -1."""

    @cuda.jit
    def kernel(x, factors, offsets, segments, context, step, columns, bits, rows, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < rows:
            s, j = segment_of(offsets, segments, i), lane * width
            there = vector.number(offsets, s + 1) - i if step > 0 else i - vector.number(offsets, s) + 1
            while j < columns:
                total = simd.full(x, width, 0)
                for k in range(min(context, there)):
                    seen = vector.load(x, (i + k * step) * columns + j, width)
                    total = simd.fma(vector.load(factors, k * columns + j, width), seen, total)
                vector.store(out, i * columns + j, total)
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def _look(x, factors, offsets, step, out):
    if out.size:
        # The argument is not read, but needs an address.
        columns, some = x.columns, factors if len(factors) else x
        width = width_of(columns, x, some, out)
        bits = group_of(columns, width)
        numbers = len(offsets) - 1, len(factors), step, columns, bits, len(x)
        launch(_look_kernel(width), len(x) << bits, x, some, offsets, *numbers, out)


@elementwise
def _correlate(at, x, grad, offsets, segments, context, columns, rows, out):
    """Sum per chunk of ``grad[t, d] * x[t + k, d]``, where both rows are in one sequence."""
    k, d = at // columns % context, at % columns
    first = at // (columns * context) * CHUNK
    s, total = segment_of(offsets, segments, first), simd.full(x, 1, 0)
    for i in range(first, min(first + CHUNK, rows)):
        s = advance(offsets, s, i)
        there = i + k < vector.number(offsets, s + 1)
        seen = vector.load_where(there, x, (i + k) * columns + d, 1)
        total = simd.fma(vector.load(grad, i * columns + d, 1), seen, total)
    vector.store(out, at, total)


def look_ahead(x, factors, offsets, out):
    """``out[t]`` is the sum of ``factors[k] * x[t + k]`` inside t's sequence."""
    _look(x, factors, offsets_like(x, offsets).offsets, 1, out)


def look_back(x, factors, offsets, grad):
    """Gradients of ``look_ahead`` by the rows and the factors."""
    g, offsets = convert(grad, x.dtype), offsets_like(x, offsets).offsets
    by_x, by_factors = x.like(x.shape), x.like(factors.shape)
    _look(g, factors, offsets, -1, by_x)
    chunks, context, columns = -(-len(x) // CHUNK), len(factors), x.columns
    sums = x.like((chunks, context * columns), x.compute_dtype)
    _correlate(sums.size, x, g, offsets, len(offsets) - 1, context, columns, len(x), sums)
    flat = by_factors.reshape(1, context * columns)
    reduce_rows("sum", sums, None, None, None, offsets_like(x, np.array([0, chunks])), 0, flat)
    return by_x, by_factors
