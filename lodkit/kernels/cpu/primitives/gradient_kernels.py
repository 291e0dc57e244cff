"""Kernels of gradients of reductions: spread over the rows of segments, placed where the largest was, shared out."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import compute_dtype, native, upcast
from ....jit import advance, jitable, njit, parallel_kernel, prange, segment_of, simd
from .templates import row_kernel


def _spread(i, s, j, grad, factors, weights, offsets, out):
    scale = factors[s] * weights[i]
    for d in range(out.shape[1]):
        out[i, d] = grad[s, d] * scale


#: ``out[i] = grad[s] * factors[s] * weights[i]`` for every row i of segment s.
spread = row_kernel(_spread)


@parallel_kernel
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

    @parallel_kernel
    def kernel(values, offsets, grad, result):
        columns = values.shape[1]
        for s in prange(len(offsets) - 1):
            start, stop = offsets[s], offsets[s + 1]
            for at in range(0, columns if start < stop else 0, width):
                j = min(at, columns - width)
                top = simd.load(values, start, j, width)
                for i in range(start + 1, stop):
                    top = simd.larger(top, simd.load(values, i, j, width))
                shift = simd.zero_nonfinite(top)
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


@parallel_kernel
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


@parallel_kernel
def row_products(values, ids, padding, offsets, base, grad, factors, chunk, result):
    """``result[i] = factors[s] * sum((values[row] - base[s]) * grad[s])``: the gradient by weights."""
    width = grad.shape[1]
    for c in prange((len(result) + chunk - 1) // chunk):
        s = segment_of(offsets, c * chunk)
        for i in range(c * chunk, min(len(result), (c + 1) * chunk)):
            s = advance(offsets, s, i)
            row = ids[i] if len(ids) else i
            # Another thread may have written the id since it was checked.
            row = row if np.uint64(row) < np.uint64(len(values)) else 0
            keep = np.float64(row != padding)
            total = 0.0
            for d in range(width):
                total += (values[row, d] * keep - base[s, d]) * np.float64(grad[s, d])
            result[i] = total * factors[s]


# These fill an array that they are given: to return one, Numba calls Python, where an interrupt may be pending, and
# then raises SystemError in its place.
@njit
def _subtract(offsets, lengths):
    for s in range(len(lengths)):
        lengths[s] = offsets[s + 1] - offsets[s]


@njit
def _add_weights(weights, offsets, sums):
    for s in range(len(sums)):
        sums[s] = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            sums[s] += weights[i]


@njit
def _invert(total, root):
    for s in range(len(total)):
        x = np.sqrt(total[s]) if root else total[s]
        total[s] = 1.0 / x if x != 0 else 0.0


def lengths_of(offsets):
    """The lengths of segments, in double precision."""
    lengths = np.empty(len(offsets) - 1)
    _subtract(offsets, lengths)
    return lengths


def weight_sums(weights, offsets):
    """The sums of the weights of segments, in double precision."""
    sums = np.empty(len(offsets) - 1)
    _add_weights(weights, offsets, sums)
    return sums


def factors(reduce, offsets, weights, dtype):
    """Factor of each segment's gradient: 1, 1/n, 1/sqrt(n), or 1 over the sum of its weights; 0 in place of 1/0."""
    if reduce == "sum":
        return np.ones(len(offsets) - 1, dtype)
    total = lengths_of(offsets) if weights is None else weight_sums(weights, offsets)
    _invert(total, {"mean": False, "sqrt": True}[reduce])
    return total.astype(dtype, copy=False)


@njit
def repeat_few(grad, factors, offsets, out):
    """``out[i] = grad[s] * factors[s]`` for every row i of segment s; without factors a copy of ``grad[s]``."""
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for d in range(out.shape[1]):
                out[i, d] = grad[s, d] * factors[s] if len(factors) else grad[s, d]


def plain(vector):
    """A vector as kernels read it: contiguous, in native byte order, halves as float32."""
    return np.ascontiguousarray(upcast(vector), compute_dtype(native(vector.dtype)))
