"""CPU part of lodkit/ops/layer_norm.py: a row is in cache while it is read for its sums, and written.

All is computed in double precision and rounded once; float16 by way of float32.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import matrix, output
from ...jit import jitable, parallel_kernel, prange, simd
from .primitives.device import round_like
from .primitives.flat_kernels import LANES
from .primitives.map_numbers import to_common_type

CHUNK = 1 << 14  # numbers
# Rows per step of the gradient: each step has its own sums of the gradients by scale and bias.
FEWEST = 16


@jitable(inline=True, nrt=False)
def _load_wide(x, i, j, rest):
    return simd.widen(simd.load_first(x, i, j, LANES, x.shape[1] - j, rest))


@jitable(inline=True, nrt=False)
def _normal(x, i, j, mean, factor):
    v = _load_wide(x, i, j, 0)
    return simd.mul(simd.sub(v, simd.like(v, mean)), simd.like(v, factor))


@jitable(nrt=False)
def _sum_of(v):
    return simd.lane(simd.reduce(simd.add, v), 0)


@jitable(nrt=False)
def _mean_and_factor(x, i, epsilon):
    """The mean of a row, and what makes its variance 1.

    Both sums in one pass, of differences from the first number. If that lies far out, they cancel as many digits as the
    row's size has: float64 gets a second pass, of differences from the mean.
    """
    shift, variance = np.float64(simd.lane(simd.load(x, i, 0, 1), 0)), 0.0
    for _ in range(2 if x.itemsize == 8 else 1):
        total = square = simd.widen(simd.full(x, LANES, 0))
        for j in range(0, x.shape[1], LANES):
            v = _load_wide(x, i, j, shift)
            v = simd.sub(v, simd.like(v, shift))
            total, square = simd.add(total, v), simd.fma(v, v, square)
        mean, squares = _sum_of(total) / x.shape[1], _sum_of(square) / x.shape[1]
        # The sum of squares may have overflowed.
        variance = np.abs(squares - mean * mean) if squares < np.inf else squares
        shift += mean
    return shift, 1 / np.sqrt(variance + epsilon)


@parallel_kernel
def _normalize(x, scale, bias, epsilon, chunk, out):
    rows, size = x.shape
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            mean, factor = _mean_and_factor(x, i, epsilon)
            for j in range(0, size, LANES):
                v = simd.fma(_normal(x, i, j, mean, factor), _load_wide(scale, 0, j, 0), _load_wide(bias, 0, j, 0))
                simd.store_first(out, i, j, simd.narrow(out, v), size - j)


@jitable(nrt=False)
def _add_up(x, grad, scale, i, mean, factor, sums, k):
    """Add a row to the gradients by scale and bias. Returns the means of its gradient, and of that times the row."""
    size = x.shape[1]
    total = slope = simd.widen(simd.full(x, LANES, 0))
    for j in range(0, size, LANES):
        v, g = _normal(x, i, j, mean, factor), _load_wide(grad, i, j, 0)
        simd.store_first(sums, k, j, simd.fma(g, v, _load_wide(sums, k, j, 0)), size - j)
        simd.store_first(sums, k + 1, j, simd.add(g, _load_wide(sums, k + 1, j, 0)), size - j)
        g = simd.mul(g, _load_wide(scale, 0, j, 0))
        total, slope = simd.add(total, g), simd.fma(g, v, slope)
    return _sum_of(total) / size, _sum_of(slope) / size


@parallel_kernel
def _differentiate(x, grad, scale, epsilon, chunk, sums, out):
    rows, size = x.shape
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            mean, factor = _mean_and_factor(x, i, epsilon)
            of_grad, slope = _add_up(x, grad, scale, i, mean, factor, sums, 2 * c)
            for j in range(0, size, LANES):
                v, g = _normal(x, i, j, mean, factor), simd.mul(_load_wide(grad, i, j, 0), _load_wide(scale, 0, j, 0))
                v = simd.sub(simd.sub(g, simd.like(g, of_grad)), simd.mul(v, simd.like(v, slope)))
                simd.store_first(out, i, j, simd.narrow(out, simd.mul(v, simd.like(v, factor))), size - j)


def _row(given, like, number):
    """A scale or bias as a matrix of one row; of a number for None."""
    row = np.full(like.shape[1], number) if given is None else given
    return np.ascontiguousarray(row, like.dtype).reshape(1, -1)


def normal_rows(x, scale, bias, epsilon):
    """Each row to mean 0 and variance 1, times the scale, plus the bias."""
    kind, y = to_common_type(x)
    out = output(x.shape, kind)
    if out.size:
        rows, target = matrix(y), matrix(out)
        chunk = max(1, CHUNK // rows.shape[1])
        _normalize(2 * out.size, rows, _row(scale, rows, 1), _row(bias, rows, 0), epsilon, chunk, target)
    return round_like(x, out)


def gradients(x, scale, grad, epsilon):
    """The gradients by x, scale and bias."""
    (kind, y, grad), (count, *item) = to_common_type(x, grad), x.shape
    size = math.prod(item)
    chunk = max(FEWEST, CHUNK // max(1, size))
    out, sums = output(x.shape, kind), np.zeros((2 * -(-count // chunk), size))
    if out.size:
        rows = matrix(y)
        _differentiate(4 * out.size, rows, matrix(grad), _row(scale, rows, 1), epsilon, chunk, sums, matrix(out))
    return round_like(x, out, *(sums[k::2].sum(axis=0).reshape(item) for k in (0, 1)))
