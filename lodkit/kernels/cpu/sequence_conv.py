"""CPU kernels of lodkit/ops/sequence_conv.py: windows made side by side, and the array library's matrix product."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, matrix, native, upcast
from ...jit import parallel_kernel, prange, settings, simd
from ...jit.search import advance, segment_of
from ...lod.lod_tensor import LoDTensor
from ...lod.windows import edges, near, uses_of_padding
from ...ops.sequence_conv import check_conv, check_row_conv, row_conv, row_conv_grad, sequence_conv, sequence_conv_grad
from ...registry import Dense
from .primitives.reduce import reduce_into
from .primitives.templates import row_kernel

BLOCK = 1 << 22  # bytes of windows that are made before they are multiplied: in the cache, and enough for threads
LEAST = 128  # rows of a block, however wide: each block reads all of the filter
MOST = 1 << 14  # rows of a block, however narrow: the filter's gradient sums them in the type of the values


@parallel_kernel
def _windows(x, pads, offsets, start, length, size, chunk, first, out):
    """For every row from ``first`` on: padding before, rows of its sequence, padding behind. All are bytes."""
    before, rows = max(0, -start), len(out) // (length * size)
    for c in prange((rows + chunk - 1) // chunk):
        s = segment_of(offsets, first + c * chunk)
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            s = advance(offsets, s, first + i)
            low, count = first + i + start - offsets[s], offsets[s + 1] - offsets[s]
            lead, tail = min(max(-low, 0), length), min(max(low + length - count, 0), length)
            to, inner = i * length * size, length - lead - tail
            if lead:
                simd.copy(out, to, pads, (before + low) * size, lead * size)
            simd.copy(out, to + lead * size, x, (offsets[s] + max(low, 0)) * size, inner * size)
            if tail:
                simd.copy(out, to + (lead + inner) * size, pads, (before + max(low - count, 0)) * size, tail * size)


def _blocks(x, pads, offsets, start, length):
    """Where each block of rows starts, and their windows, until the next block is asked for."""
    width = x.shape[1]
    columns, size = length * width, width * x.itemsize
    if pads is None:
        start = near(start, length, len(x))
        pads = np.zeros((sum(edges(start, length)), width), x.dtype)
    step = min(max(LEAST, BLOCK // max(1, length * size)), MOST)
    buffer = np.empty((min(step, len(x)), columns), x.dtype)
    inputs = [a.reshape(-1).view(np.uint8) for a in (x, pads)]
    for first in range(0, len(x), step):
        part = buffer[: len(x) - first]
        if part.size:
            chunk = max(1, settings.chunk_rows // 64)
            _windows(part.size, *inputs, offsets, start, length, size, chunk, first, part.reshape(-1).view(np.uint8))
        yield first, part


def _product(x, pads, offsets, start, length, weight, out):
    """``out[t]`` = the window of row t times ``weight``."""
    for first, windows in _blocks(x, pads, offsets, start, length):
        np.matmul(windows, weight, out=out[first : first + len(windows)])
    return out


def _plain(array):
    """Rows that compute, C-contiguous."""
    return matrix(upcast(array))


@sequence_conv.kernel("cpu")
def conv(x: LoDTensor, filter: Dense, padding: Dense | None = None, /, *, context_start, context_length, out=None):
    start = check_conv(x.values, filter, padding, context_start, context_length)
    values, weight = _plain(x.values), _plain(filter)
    pads = None if padding is None else _plain(padding)
    dtype, shape = native(x.dtype), (len(values), weight.shape[1])
    out = arrays.output(shape, dtype, out)
    product = out if dtype == values.dtype else np.empty(shape, values.dtype)
    _product(values, pads, x.row_offsets(), start, context_length, weight, product)
    if product is not out:
        with np.errstate(over="ignore"):
            out[...] = product
    return x.with_values(out)


@sequence_conv_grad.kernel("cpu")
def conv_grad(
    x: LoDTensor, filter: Dense, grad: Dense, padding: Dense | None = None, /, *, context_start, context_length
):
    start = check_conv(x.values, filter, padding, context_start, context_length)
    check_gradient(grad, (len(x.values), filter.shape[1]))
    values, weight, offsets = _plain(x.values), _plain(filter), x.row_offsets()
    g = _plain(grad.astype(values.dtype, copy=False))
    pads = None if padding is None else _plain(padding)
    by_filter = np.zeros(weight.shape)
    for first, windows in _blocks(values, pads, offsets, start, context_length):
        by_filter += windows.T @ g[first : first + len(windows)]
    steps = weight.reshape(context_length, values.shape[1], weight.shape[1]).transpose(0, 2, 1)
    # A row gets from each row that sees it, through that step's part of the filter: a convolution the other way round.
    back = steps[::-1].reshape(context_length * weight.shape[1], values.shape[1])
    by_x = _product(g, None, offsets, 1 - start - context_length, context_length, back, np.empty_like(values))
    found = [by_x.reshape(x.values.shape), by_filter]
    if padding is not None:
        rows, ends = uses_of_padding(offsets, start, context_length)
        uses = reduce_into(g, rows, None, None, ends, "sum", 0.0).reshape(len(padding), len(back))
        found.append((uses @ steps.reshape(back.shape)).reshape(padding.shape))
    with np.errstate(over="ignore"):
        return tuple(d.astype(native(x.dtype), copy=False) for d in found)


def _look_row(i, s, _, x, factors, step, offsets, out):
    for d in range(out.shape[1]):
        out[i, d] = 0
    there = offsets[s + 1] - i if step > 0 else i - offsets[s] + 1
    for k in range(min(len(factors), there)):
        for d in range(out.shape[1]):
            out[i, d] += factors[k, d] * x[i + k * step, d]


#: ``out[t]`` = the sum of ``factors[k] * x[t + k * step]`` inside t's sequence; ``step`` is 1 or -1.
_look = row_kernel(_look_row)


@parallel_kernel
def _correlate(x, grad, offsets, chunk, sums):
    """``sums[c, k]`` = the sum of ``grad[t] * x[t + k]`` over the rows t of chunk c, where both are in a sequence."""
    parts, context, columns = sums.shape
    for c in prange(parts):
        s = segment_of(offsets, c * chunk)
        for i in range(c * chunk, min(len(x), (c + 1) * chunk)):
            s = advance(offsets, s, i)
            for k in range(min(context, offsets[s + 1] - i)):
                for d in range(columns):
                    sums[c, k, d] += np.float64(grad[i, d]) * x[i + k, d]


@row_conv.kernel("cpu")
def look_ahead(x: LoDTensor, filter: Dense, /, *, out=None):
    check_row_conv(x.values, filter)
    values, factors = _plain(x.values), _plain(filter)
    out = arrays.output(x.values.shape, native(x.dtype), out)
    result = out.reshape(values.shape) if out.dtype == values.dtype else np.empty_like(values)
    _look(values.size * len(factors), values, factors, 1, x.row_offsets(), settings.chunk_rows, result)
    if out.dtype != values.dtype:
        with np.errstate(over="ignore"):
            out[...] = result.reshape(out.shape)
    return x.with_values(out)


@row_conv_grad.kernel("cpu")
def look_back(x: LoDTensor, filter: Dense, grad: Dense, /):
    check_row_conv(x.values, filter)
    check_gradient(grad, x.values.shape)
    values, factors, offsets = _plain(x.values), _plain(filter), x.row_offsets()
    g, work = _plain(grad.astype(values.dtype, copy=False)), values.size * len(factors)
    by_x, chunk = np.empty_like(values), settings.chunk_rows
    _look(work, g, factors, -1, offsets, chunk, by_x)
    sums = np.zeros((-(-len(values) // chunk), *factors.shape))
    _correlate(work, values, g, offsets, chunk, sums)
    found = by_x.reshape(x.values.shape), sums.sum(axis=0).reshape(filter.shape)
    with np.errstate(over="ignore"):
        return tuple(d.astype(native(x.dtype), copy=False) for d in found)
