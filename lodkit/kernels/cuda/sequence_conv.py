"""CUDA kernels of lodkit/ops/sequence_conv.py: windows made side by side, and the array library's matrix product."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import check_gradient
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert, copied, fill
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import library_of, output, view
from ...jit import simd
from ...lod.lod_tensor import LoDTensor
from ...lod.windows import near, uses_of_padding
from ...ops.sequence_conv import check_conv, check_row_conv, row_conv, row_conv_grad, sequence_conv, sequence_conv_grad
from ...registry import Dense
from .primitives.offsets import offsets_like
from .primitives.reduce import group_of, reduce_rows, width_of
from .primitives.row_kernels import segment_of

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
    """Where each block of rows starts and stops, and their windows."""
    columns = x.columns
    start = near(start, length, len(x)) if pads is None else start
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
    """``out[t]`` = the window of row t times ``weight``, rounded to the type of ``out``."""
    xp = library_of(weight).namespace()
    for first, stop, windows in _blocks(x, pads, offsets, start, length):
        copied(view(xp.matmul(windows, weight)), out.part(first, stop))
    return out


def _plain(array):
    """An array of rows that compute."""
    return convert(array, array.compute_dtype if array.dtype == np.float16 else array.dtype).reshape(
        len(array), array.columns
    )


def _checked(x, filter, padding, start, length):
    """Views of the rows, the filter and the padding; the offsets on their device; where the window starts."""
    values, weight, pads = view(x.values), view(filter), None if padding is None else view(padding)
    start = check_conv(values, weight, pads, start, length)
    offsets = offsets_like(values, x.row_offsets()).offsets
    return _plain(values), _plain(weight), None if pads is None else _plain(pads), offsets, start


@sequence_conv.kernel("cuda")
def conv(x: LoDTensor, filter: Dense, padding: Dense | None = None, /, *, context_start, context_length, out=None):
    values, weight, pads, offsets, start = _checked(x, filter, padding, context_start, context_length)
    source = view(x.values)
    out = output(source, (len(source), weight.shape[1]), source.dtype, out)
    _product(values, pads, offsets, start, context_length, weight.array, out)
    return x.with_values(out.array)


@sequence_conv_grad.kernel("cuda")
def conv_grad(
    x: LoDTensor, filter: Dense, grad: Dense, padding: Dense | None = None, /, *, context_start, context_length
):
    values, weight, pads, offsets, start = _checked(x, filter, padding, context_start, context_length)
    check_gradient(view(grad), (len(values), weight.shape[1]))
    xp, dtype = library_of(filter).namespace(), view(x.values).dtype
    g = convert(view(grad), values.dtype)
    by_filter = fill(values.like(weight.shape, np.float64), 0).array
    for first, stop, windows in _blocks(values, pads, offsets, start, context_length):
        share = xp.matmul(xp.permute_dims(xp.asarray(windows), (1, 0)), g.part(first, stop).array)
        by_filter = xp.asarray(by_filter) + xp.astype(share, xp.float64)
    steps = xp.permute_dims(xp.reshape(weight.array, (context_length, values.columns, weight.columns)), (0, 2, 1))
    # A row gets from each row that sees it, through that step's part of the filter: a convolution the other way round.
    shape = context_length * weight.columns, values.columns
    back, by_x = xp.reshape(xp.flip(steps, axis=0), shape), values.like(x.values.shape, dtype)
    _product(g, None, offsets, 1 - start - context_length, context_length, back, by_x.reshape(*values.shape))
    found = [by_x, convert(view(by_filter), dtype)]
    if padding is not None:
        rows, ends = uses_of_padding(x.row_offsets(), start, context_length)
        uses = values.like((len(ends) - 1, weight.columns))
        reduce_rows("sum", g, values.send(rows), None, None, offsets_like(values, ends), 0, uses)
        uses = uses.reshape(len(pads), context_length * weight.columns)
        shares = xp.reshape(xp.matmul(uses.array, xp.reshape(steps, shape)), tuple(padding.shape))
        found.append(convert(view(shares), dtype))
    return tuple(part.array for part in found)


@functools.cache
def _look_kernel(width):
    """``out[t]`` = the sum of ``factors[k] * x[t + k * step]`` inside t's sequence; ``step`` is 1 or -1."""

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
        columns, some = x.columns, factors if len(factors) else x  # which is not read, but has an address
        width = width_of(columns, x, some, out)
        bits = group_of(columns, width)
        numbers = len(offsets) - 1, len(factors), step, columns, bits, len(x)
        launch(_look_kernel(width), len(x) << bits, x, some, offsets, *numbers, out)


@cuda.jit
def _correlate(x, grad, offsets, segments, context, columns, rows, n, out):
    """A chunk's sum of ``grad[t, d] * x[t + k, d]``, where both rows are in one sequence."""
    at = cuda.grid(1)
    while at < n:
        k, d = at // columns % context, at % columns
        first = at // (columns * context) * CHUNK
        s, total = segment_of(offsets, segments, first), simd.full(x, 1, 0)
        for i in range(first, min(first + CHUNK, rows)):
            while vector.number(offsets, s + 1) <= i:
                s += 1
            there = i + k < vector.number(offsets, s + 1)
            seen = vector.load_where(there, x, (i + k) * columns + d, 1)
            total = simd.fma(vector.load(grad, i * columns + d, 1), seen, total)
        vector.store(out, at, total)
        at += cuda.gridsize(1)


@row_conv.kernel("cuda")
def look_ahead(x: LoDTensor, filter: Dense, /, *, out=None):
    values, factors = view(x.values), view(filter)
    check_row_conv(values, factors)
    out = output(values, values.shape, values.dtype, out)
    _look(values, factors, offsets_like(values, x.row_offsets()).offsets, 1, out)
    return x.with_values(out.array)


@row_conv_grad.kernel("cuda")
def look_back(x: LoDTensor, filter: Dense, grad: Dense, /):
    values, factors, g = view(x.values), view(filter), view(grad)
    check_row_conv(values, factors)
    g = convert(check_gradient(g, values.shape), values.dtype)
    offsets = offsets_like(values, x.row_offsets()).offsets
    by_x, by_filter = values.like(values.shape), values.like(factors.shape)
    _look(g, factors, offsets, -1, by_x)
    chunks, context, columns = -(-len(values) // CHUNK), len(factors), values.columns
    sums = values.like((chunks, context * columns), values.compute_dtype)
    numbers = len(offsets) - 1, context, columns, len(values), sums.size
    launch(_correlate, sums.size, values, g, offsets, *numbers, sums)
    flat = by_filter.reshape(1, context * columns)
    reduce_rows("sum", sums, None, None, None, offsets_like(values, np.array([0, chunks])), 0, flat)
    return by_x.array, by_filter.array
