"""Kernels over rows that several families share: check ids, copy rows, spread and place gradients."""

from __future__ import annotations

import functools

import numpy as np

from .. import arrays, simd
from ..arrays import integers, matrix, native
from ..jit import get_num_threads, jitable, njit, prange, settings, threaded
from ..ops._tables import bad_id

FAR = 1 << 25  # bytes of a result that no cache holds: long runs go past the caches
LONG = 256  # bytes
AHEAD = 32  # rows between a prefetch and its use
NO_WEIGHTS = np.empty(0, np.float32)


@jitable
def first_at_least(offsets, row):
    """Position of the first offset that is >= row."""
    low, high = 0, len(offsets)
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def any_outside(ids, height):
    # No early exit: the loop vectorises, and a bad id is looked up by NumPy afterwards. Negative ones are huge.
    bad, limit = False, np.uint64(height)
    for i in range(len(ids)):
        bad |= np.uint64(ids[i]) >= limit
    return bad


def checked_ids(ids, height, name="ids", error=None):
    """``ids`` as C-contiguous int64, each inside ``[0, height)``; ``error(ids, position)`` makes the exception."""
    ids = integers(ids, name)
    flat = ids if ids.ndim == 1 else ids.reshape(-1)
    if any_outside(flat, height):
        at = int(np.argmax((flat < 0) | (flat >= height)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids


@jitable
def _copy_numbers(table, ids, padding, out):
    for i in range(len(out)):
        row = ids[i]
        out[i] = table[row] if row != padding else 0


@threaded
def copy_rows(table, ids, padding, chunk, out):
    """``out[i] = table[ids[i]]``, zeros where the id is ``padding`` (-1: none)."""
    rows, width = out.shape
    size = table.itemsize * width
    for c in prange((rows + chunk - 1) // chunk):
        first, last = c * chunk, min(rows, (c + 1) * chunk)
        if width == 1:  # a sixth of the time that the loops below take
            _copy_numbers(table.reshape(-1), ids[first:last], padding, out.reshape(-1)[first:last])
            first = last
        for i in range(first, last):
            row = ids[i]
            simd.prefetch(table, ids[min(i + AHEAD, rows - 1)], 0, size)
            if row == padding:
                for d in range(width):
                    out[i, d] = 0
            else:
                for d in range(width):
                    out[i, d] = table[row, d]


def take_rows(data, rows, out=None):
    """``data[rows]`` for rows that are there, most of them beside the one before; zeros for row -1."""
    out = arrays.output((len(rows), *data.shape[1:]), native(data.dtype), out)
    source, target = matrix(data), matrix(out)
    if out.nbytes >= FAR and out.nbytes >= LONG * len(out):
        _stream_rows(out.size, source, rows, target.strides[0], settings.chunk_rows, target)
    else:
        copy_rows(out.size, source, rows, -1, settings.chunk_rows, target)
    return out


@threaded
def _stream_rows(source, rows, size, chunk, out):
    """``out[i] = source[rows[i]]``: 1.5 to 2 times faster than by ``copy_rows``, for rows all over a table slower."""
    for c in prange((len(rows) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(rows), (c + 1) * chunk)):
            simd.prefetch(source, rows[min(i + AHEAD, len(rows) - 1)], 0, size)
            if rows[i] < 0:
                out[i] = 0
            else:
                simd.stream(out, i * size, source, rows[i] * size, size)
        simd.settle()


def run_rows(starts, stops, count):
    """The numbers of the rows of runs, ``count`` in all, one run after another."""
    rows = np.empty(count, np.int64)
    _number_rows(starts, stops, rows)
    return rows


@njit
def _number_rows(starts, stops, rows):
    at = 0
    for r in range(len(starts)):
        for i in range(starts[r], stops[r]):
            rows[at] = i
            at += 1


@threaded
def put_rows(rows, values, parts, out):
    """``out[rows[i]] = values[i]``, of several for one row the last; a part of ``out`` is written by one thread."""
    share, last = (len(out) + parts - 1) // parts, len(rows) - 1
    size = out.itemsize * out.shape[1]
    for p in prange(parts):
        start, stop = p * share, (p + 1) * share
        for i in range(len(rows)):
            ahead, row = rows[min(i + AHEAD, last)], rows[i]
            if start <= ahead < stop:
                simd.prefetch(out, ahead, 0, size)
            if start <= row < stop:
                for d in range(out.shape[1]):
                    out[row, d] = values[i, d]


def put_all(rows, values, out):
    """``put_rows`` into two-dimensional ``out``, by as many threads as it takes."""
    if out.size and len(rows):
        parts = get_num_threads() if values.size >= settings.parallel_from else 1
        put_rows(values.size, rows, values, parts, out)


@threaded
def spread(grad, offsets, weights, factors, chunk, out):
    """``out[i] = grad[s] * factors[s] * weights[i]`` for every row i of segment s."""
    rows, width = out.shape
    for c in prange((rows + chunk - 1) // chunk):
        s = first_at_least(offsets, c * chunk + 1) - 1
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            while offsets[s + 1] <= i:
                s += 1
            scale = factors[s] * weights[i] if len(weights) else factors[s]
            for d in range(width):
                out[i, d] = grad[s, d] * scale


@threaded
def place(grad, index, out):
    """``out[index[s, d], d] = grad[s, d]`` into zeros; rows of different segments are different rows."""
    segments, width = index.shape
    for s in prange(segments):
        for d in range(width):
            if index[s, d] >= 0:
                out[index[s, d], d] = grad[s, d]


@jitable
def infinite_shares(values, grad, result, start, stop, s, d):
    """One column with an infinite maximum: equal shares for +inf, 0 under -inf, NaN where there is one."""
    count, odd = 0, 0.0
    for i in range(start, stop):
        count += values[i, d] == np.inf
        odd += values[i, d] - values[i, d] if np.isnan(values[i, d]) else 0.0
    for i in range(start, stop):
        result[i, d] = (grad[s, d] / count if values[i, d] == np.inf else 0.0) + odd


@functools.cache
def logsumexp_shares(width):
    """``result[i] = grad[s] * exp(values[i]) / (the sum of those)``, shifted by the maximum.

    The forward result is not read: it is rounded, which for large values is an error in the exponent.
    """

    @threaded
    def kernel(values, offsets, grad, result):
        columns = values.shape[1]
        for s in prange(len(offsets) - 1):
            start, stop = offsets[s], offsets[s + 1]
            for at in range(0, columns if start < stop else 0, width):
                j = min(at, columns - width)
                top = simd.load(values, start, j, width)
                for i in range(start + 1, stop):
                    top = simd.larger(top, simd.load(values, i, j, width))
                shift = simd.finite(top)
                total = simd.widen(simd.full(values, width, 0.0))
                for i in range(start, stop):
                    x = simd.exp(simd.sub(simd.load(values, i, j, width), shift))
                    simd.store(result, i, j, x)
                    total = simd.add(total, simd.widen(x))
                scale = simd.div(simd.load(grad, s, j, width), simd.narrow(values, total))
                for i in range(start, stop):
                    simd.store(result, i, j, simd.mul(simd.load(result, i, j, width), scale))
                for k in range(width):
                    if np.isinf(simd.lane(top, k)):
                        infinite_shares(values, grad, result, start, stop, s, j + k)

    return kernel


@threaded
def products_of_others(values, offsets, grad, result):
    """``result[i] = grad[s]`` times the product of the other rows of the segment: nothing is divided by a zero."""
    columns = values.shape[1]
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for d in range(columns):
                before = result[i - 1, d] * values[i - 1, d] if i > offsets[s] else grad[s, d]
                result[i, d] = before
        after = np.ones(columns, values.dtype)
        for i in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
            for d in range(columns):
                result[i, d] *= after[d]
                after[d] *= values[i, d]


@threaded
def row_products(values, ids, padding, offsets, base, grad, factors, chunk, result):
    """``result[i] = factors[s] * sum((values[row] - base[s]) * grad[s])``: the gradient by weights."""
    width = grad.shape[1]
    for c in prange((len(result) + chunk - 1) // chunk):
        s = first_at_least(offsets, c * chunk + 1) - 1
        for i in range(c * chunk, min(len(result), (c + 1) * chunk)):
            while offsets[s + 1] <= i:
                s += 1
            row = ids[i] if len(ids) else i
            keep = np.float64(row != padding)
            total = 0.0
            for d in range(width):
                total += (values[row, d] * keep - base[s, d]) * np.float64(grad[s, d])
            result[i] = total * factors[s]


@njit
def lengths_of(offsets):
    lengths = np.empty(len(offsets) - 1, np.float64)
    for s in range(len(lengths)):
        lengths[s] = offsets[s + 1] - offsets[s]
    return lengths


@njit
def weight_sums(weights, offsets):
    sums = np.zeros(len(offsets) - 1, np.float64)
    for s in range(len(sums)):
        for i in range(offsets[s], offsets[s + 1]):
            sums[s] += weights[i]
    return sums


def factors(reduce, offsets, weights, dtype):
    """By what a segment's gradient is multiplied: 1, 1/n, 1/sqrt(n), or 1 over the sum of its weights."""
    if reduce == "sum":
        return np.ones(len(offsets) - 1, dtype)
    total = lengths_of(offsets) if weights is None else weight_sums(weights, offsets)
    total = np.sqrt(total) if reduce == "sqrt" else total
    return np.divide(1.0, total, out=np.zeros_like(total), where=total != 0).astype(dtype)


def plain(vector):
    """A vector as kernels read it: contiguous, in native byte order, float16 as float32."""
    return np.ascontiguousarray(vector, np.float32 if native(vector.dtype) == np.float16 else native(vector.dtype))
