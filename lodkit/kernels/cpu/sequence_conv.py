"""CPU kernels of lodkit/ops/sequence_conv.py: windows side by side, and NumPy's matrix product."""

from __future__ import annotations

import numpy as np

from ...arrays import matrix, native, upcast
from ...jit import advance, parallel_kernel, prange, segment_of, settings, simd
from ...jit.blas import multiply
from ...ops.sequence_conv import clip_start, edges, uses_of_padding
from .primitives.reduce import reduce_into
from .primitives.templates import row_kernel

# Bytes of windows per matrix product: they stay in the cache, and are enough for threads.
BLOCK = 1 << 22
# Each block reads the whole filter, so even wide rows come in blocks of this number.
MIN_BLOCK_ROWS = 128
# The gradient of the filter sums the rows of a block in the type of the values, which loses digits in longer sums.
MAX_BLOCK_ROWS = 1 << 14


@parallel_kernel
def _windows(x, pads, offsets, start, length, size, chunk, first, out):
    """Windows of the rows from ``first`` on: padding before, rows of its sequence, padding behind. All are bytes."""
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
    """First row of each block, and the windows of its rows, which the next block overwrites."""
    width = x.shape[1]
    columns, size = length * width, width * x.itemsize
    if pads is None:
        start = clip_start(start, length, len(x))
        pads = np.zeros((sum(edges(start, length)), width), x.dtype)
    step = min(max(MIN_BLOCK_ROWS, BLOCK // max(1, length * size)), MAX_BLOCK_ROWS)
    buffer = np.empty((min(step, len(x)), columns), x.dtype)
    inputs = [a.reshape(-1).view(np.uint8) for a in (x, pads)]
    for first in range(0, len(x), step):
        part = buffer[: len(x) - first]
        if part.size:
            chunk = max(1, settings.chunk_rows // 64)
            _windows(part.size, *inputs, offsets, start, length, size, chunk, first, part.reshape(-1).view(np.uint8))
        yield first, part


def _product(x, pads, offsets, start, length, weight, out):
    """``out[t]`` is the window of row t times ``weight``."""
    for first, windows in _blocks(x, pads, offsets, start, length):
        multiply(windows, weight, out[first : first + len(windows)])
    return out


def _contiguous_rows(array):
    """Rows to compute with, C-contiguous."""
    return matrix(upcast(array))


def _finish(result, out):
    """Round a result that was not computed in ``out`` to its type."""
    if result.dtype != out.dtype:
        with np.errstate(over="ignore"):
            out[...] = result.reshape(out.shape)


def _round_results(dtype, *results):
    with np.errstate(over="ignore"):
        return tuple(result.astype(native(dtype), copy=False) for result in results)


def convolve(x, weight, pads, offsets, start, length, out):
    """``out[t]`` is the window of row t times ``weight``."""
    values, weight = _contiguous_rows(x), _contiguous_rows(weight)
    pads = None if pads is None else _contiguous_rows(pads)
    product = out if out.dtype == values.dtype else np.empty(out.shape, values.dtype)
    _finish(_product(values, pads, offsets, start, length, weight, product), out)


def convolve_grad(x, weight, pads, offsets, start, length, grad):
    """Gradients of ``convolve`` by the rows, the weight and the padding, if given."""
    values, weight = _contiguous_rows(x), _contiguous_rows(weight)
    g, by_weight = _contiguous_rows(grad.astype(values.dtype, copy=False)), np.zeros(weight.shape)
    for first, windows in _blocks(values, None if pads is None else _contiguous_rows(pads), offsets, start, length):
        by_weight += multiply(windows.T, g[first : first + len(windows)])
    steps = weight.reshape(length, values.shape[1], weight.shape[1]).transpose(0, 2, 1)
    # A row gets from each row that sees it, through that step's part of the weight: a convolution backwards.
    back = steps[::-1].reshape(length * weight.shape[1], values.shape[1])
    by_x = _product(g, None, offsets, 1 - start - length, length, back, np.empty_like(values)).reshape(x.shape)
    if pads is None:
        return _round_results(x.dtype, by_x, by_weight)
    rows, ends = uses_of_padding(offsets, start, length)
    uses = reduce_into(g, rows, None, None, ends, "sum", 0.0).reshape(len(pads), len(back))
    return _round_results(x.dtype, by_x, by_weight, multiply(uses, steps.reshape(back.shape)).reshape(pads.shape))


def _look_row(i, s, _, x, factors, step, offsets, out):
    for d in range(out.shape[1]):
        out[i, d] = 0
    there = offsets[s + 1] - i if step > 0 else i - offsets[s] + 1
    for k in range(min(len(factors), there)):
        for d in range(out.shape[1]):
            out[i, d] += factors[k, d] * x[i + k * step, d]


#: ``out[t]`` is the sum of ``factors[k] * x[t + k * step]`` inside t's sequence; ``step`` is 1 or -1.
_look = row_kernel(_look_row)


@parallel_kernel
def _correlate(x, grad, offsets, chunk, sums):
    """``sums[c, k]`` is the sum of ``grad[t] * x[t + k]`` over the rows t of chunk c, where both are in a sequence."""
    parts, context, columns = sums.shape
    for c in prange(parts):
        s = segment_of(offsets, c * chunk)
        for i in range(c * chunk, min(len(x), (c + 1) * chunk)):
            s = advance(offsets, s, i)
            for k in range(min(context, offsets[s + 1] - i)):
                for d in range(columns):
                    sums[c, k, d] += np.float64(grad[i, d]) * x[i + k, d]


def look_ahead(x, factors, offsets, out):
    """``out[t]`` is the sum of ``factors[k] * x[t + k]`` inside t's sequence."""
    values, factors = _contiguous_rows(x), _contiguous_rows(factors)
    result = out.reshape(values.shape) if out.dtype == values.dtype else np.empty_like(values)
    _look(values.size * len(factors), values, factors, 1, offsets, settings.chunk_rows, result)
    _finish(result, out)


def look_back(x, factors, offsets, grad):
    """Gradients of ``look_ahead`` by the rows and the factors."""
    values, weight = _contiguous_rows(x), _contiguous_rows(factors)
    g, work = _contiguous_rows(grad.astype(values.dtype, copy=False)), values.size * len(weight)
    by_x, chunk = np.empty_like(values), settings.chunk_rows
    _look(work, g, weight, -1, offsets, chunk, by_x)
    sums = np.zeros((-(-len(values) // chunk), *weight.shape))
    _correlate(work, values, g, offsets, chunk, sums)
    return _round_results(x.dtype, by_x.reshape(x.shape), sums.sum(axis=0).reshape(factors.shape))
