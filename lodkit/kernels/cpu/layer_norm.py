"""CPU part of lodkit/ops/layer_norm.py: a row is in cache while it is read for its sums, and written.

All is computed in double precision and rounded once. Numbers go LANES at a time, the last of a row one at a time.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import matrix, native, output
from ...jit import jitable, parallel_kernel, prange, simd
from .primitives.reduce_kernels import LANES

CHUNK = 1 << 8  # rows whose gradients by scale and bias are added up before those of others


def _steps(width):
    """Functions of the numbers of row i from ``start`` to ``stop``, W at a time."""

    @jitable(nrt=False)
    def wide(x, i, j):
        return simd.widen(simd.load(x, i, j, width))

    @jitable(nrt=False)
    def moments(x, i, start, stop, shift):
        """Sum the differences from a number, and their squares."""
        total = square = simd.widen(simd.full(x, width, 0))
        for j in range(start, stop, width):
            v = wide(x, i, j)
            v = simd.sub(v, simd.like(v, shift))
            total, square = simd.add(total, v), simd.fma(v, v, square)
        return simd.lane(simd.reduce(simd.add, total), 0), simd.lane(simd.reduce(simd.add, square), 0)

    @jitable(nrt=False)
    def write(x, i, start, stop, mean, factor, scale, bias, out):
        for j in range(start, stop, width):
            v = wide(x, i, j)
            v = simd.mul(simd.sub(v, simd.like(v, mean)), simd.like(v, factor))
            v = simd.fma(v, wide(scale, 0, j), wide(bias, 0, j))
            simd.store(out, i, j, simd.narrow(out, v))

    @jitable(nrt=False)
    def add_up(x, grad, i, start, stop, mean, factor, scale, sums, k):
        """Add the row to the gradients by scale and bias. Sum its gradient, and that times the normal row."""
        total = slope = simd.widen(simd.full(x, width, 0))
        for j in range(start, stop, width):
            v, g = wide(x, i, j), wide(grad, i, j)
            v = simd.mul(simd.sub(v, simd.like(v, mean)), simd.like(v, factor))
            simd.store(sums, 2 * k, j, simd.fma(g, v, simd.load(sums, 2 * k, j, width)))
            simd.store(sums, 2 * k + 1, j, simd.add(g, simd.load(sums, 2 * k + 1, j, width)))
            g = simd.mul(g, wide(scale, 0, j))
            total, slope = simd.add(total, g), simd.fma(g, v, slope)
        return simd.lane(simd.reduce(simd.add, total), 0), simd.lane(simd.reduce(simd.add, slope), 0)

    @jitable(nrt=False)
    def write_grad(x, grad, i, start, stop, mean, factor, scale, of_grad, slope, out):
        for j in range(start, stop, width):
            v, g = wide(x, i, j), wide(grad, i, j)
            v = simd.mul(simd.sub(v, simd.like(v, mean)), simd.like(v, factor))
            g = simd.sub(simd.mul(g, wide(scale, 0, j)), simd.like(g, of_grad))
            v = simd.mul(simd.sub(g, simd.mul(v, simd.like(v, slope))), simd.like(v, factor))
            simd.store(out, i, j, simd.narrow(out, v))

    return moments, write, add_up, write_grad


(_moments, _write, _add_up, _write_grad), (_moments_1, _write_1, _add_up_1, _write_grad_1) = _steps(LANES), _steps(1)


@jitable(nrt=False)
def _mean_and_factor(x, i, epsilon):
    """The mean of a row, and what makes its variance 1.

    Both sums in one pass, of differences from the first number. If that lies far out, they cancel as many digits as the
    row's size has: float64 gets a second pass, of differences from the mean.
    """
    size = x.shape[1]
    whole, shift, variance = size - size % LANES, simd.lane(simd.widen(simd.load(x, i, 0, 1)), 0), 0.0
    for _ in range(2 if x.itemsize == 8 else 1):
        total, square = _moments(x, i, 0, whole, shift)
        rest, squares = _moments_1(x, i, whole, size, shift)
        mean, square = (total + rest) / size, (square + squares) / size
        variance = np.abs(square - mean * mean) if square < np.inf else square  # which may have overflowed
        shift += mean
    return shift, 1 / np.sqrt(variance + epsilon)


@parallel_kernel
def _normalize(x, scale, bias, epsilon, out):
    rows, size = x.shape
    whole = size - size % LANES
    for c in prange((rows + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            mean, factor = _mean_and_factor(x, i, epsilon)
            _write(x, i, 0, whole, mean, factor, scale, bias, out)
            _write_1(x, i, whole, size, mean, factor, scale, bias, out)


@parallel_kernel
def _differentiate(x, grad, scale, epsilon, sums, out):
    rows, size = x.shape
    whole = size - size % LANES
    for c in prange((rows + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            mean, factor = _mean_and_factor(x, i, epsilon)
            g, slope = _add_up(x, grad, i, 0, whole, mean, factor, scale, sums, c)
            g_1, slope_1 = _add_up_1(x, grad, i, whole, size, mean, factor, scale, sums, c)
            g, slope = (g + g_1) / size, (slope + slope_1) / size
            _write_grad(x, grad, i, 0, whole, mean, factor, scale, g, slope, out)
            _write_grad_1(x, grad, i, whole, size, mean, factor, scale, g, slope, out)


def _row_like(row, size, number):
    """A scale or bias as a matrix of one row; of a number for None."""
    return np.full((1, size), number) if row is None else matrix(row.reshape(1, -1))


def normal_rows(x, scale, bias, epsilon):
    """Each row to mean 0 and variance 1, times the scale, plus the bias."""
    out = output(x.shape, native(x.dtype))
    if out.size:
        rows = matrix(x)
        size = rows.shape[1]
        _normalize(2 * out.size, rows, _row_like(scale, size, 1.0), _row_like(bias, size, 0.0), epsilon, matrix(out))
    return out


def gradients(x, scale, grad, epsilon):
    """The gradients by x, scale and bias."""
    dtype, (rows, *item) = native(x.dtype), x.shape
    out, sums = output(x.shape, dtype), np.zeros((-(-rows // CHUNK), 2, math.prod(item)))
    if out.size:
        flat, size = matrix(x), sums.shape[2]
        grad = grad if native(grad.dtype) == dtype else grad.astype(np.float64)
        totals = sums.reshape(-1, size)
        _differentiate(4 * out.size, flat, matrix(grad), _row_like(scale, size, 1.0), epsilon, totals, matrix(out))
    with np.errstate(over="ignore"):
        by_scale, by_bias = sums.sum(axis=0).astype(dtype)
    return out, by_scale.reshape(item), by_bias.reshape(item)
