"""Softmax of rows, the cross entropy by it, and its gradient: a row is in cache while it is read again.

float16 goes by way of float32.
"""

from __future__ import annotations

import numpy as np

from ....arrays import output
from ....jit import jitable, parallel_kernel, prange, simd
from .device import round_like
from .flat_kernels import LANES
from .map_numbers import to_common_type

CHUNK = 1 << 14  # numbers
BLOCK = 64 * LANES  # numbers that are summed in their own type


@jitable(nrt=False)
def _number(x, i, j):
    return np.float64(simd.lane(simd.load(x, i, j, 1), 0))


@jitable(nrt=False)
def _largest(x, i):
    """The largest number of a row; it may pass over a NaN."""
    size = x.shape[1]
    top = simd.load_first(x, i, 0, LANES, size, -np.inf)
    for j in range(LANES, size, LANES):
        top = simd.larger(top, simd.load_first(x, i, j, LANES, size - j, -np.inf))
    return simd.lane(simd.reduce(simd.larger, top), 0)


@jitable(inline=True, nrt=False)
def _exp(x, i, j, size, top):
    v = simd.load_first(x, i, j, LANES, size - j, -np.inf)
    return simd.exp(simd.sub(v, simd.like(v, top)))


@jitable(nrt=False)
def _count(x, i, top):
    """How many numbers of a row are ``top``; NaN where one is."""
    count = 0.0
    for j in range(x.shape[1]):
        number = _number(x, i, j)
        count += number == top if number == number else np.nan
    return count


@jitable(nrt=False)
def _share(number, top, total):
    """The share of a number in the softmax of its row: none if all are -inf."""
    if np.isinf(top):
        return (number == top and top > 0) / total
    return np.exp(number - top) / total


def _sum_of_exp(writes):
    """Function that sums ``exp(x - top)`` of a row; it may write them."""

    @jitable(nrt=False)
    def sum_up(x, i, top, out):
        size = x.shape[1]
        total = simd.widen(simd.full(x, LANES, 0))
        for first in range(0, size, BLOCK):
            partial = simd.full(x, LANES, 0)
            for j in range(first, min(first + BLOCK, size), LANES):
                v = _exp(x, i, j, size, top)
                partial = simd.add(partial, v)
                if writes:
                    simd.store_first(out, i, j, v, size - j)
            total = simd.add(total, simd.widen(partial))
        return simd.lane(simd.reduce(simd.add, total), 0)

    return sum_up


_total_of, _put_exp = _sum_of_exp(False), _sum_of_exp(True)


@jitable(nrt=False)
def _put_shares(x, i, by, out):
    """Write the softmax of a row times a number. Returns the largest number, and the sum of the exponentials."""
    size, top = x.shape[1], _largest(x, i)
    if np.isinf(top):
        total = _count(x, i, top)
        for j in range(size):
            simd.store(out, i, j, simd.full(out, 1, _share(_number(x, i, j), top, total) * by))
        return top, total
    total = _put_exp(x, i, top, out)
    for j in range(0, size, LANES):
        v = simd.load_first(out, i, j, LANES, size - j, 0)
        simd.store_first(out, i, j, simd.mul(v, simd.like(v, by / total)), size - j)
    return top, total


@parallel_kernel
def _softmax(x, chunk, out):
    rows = len(x)
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            _put_shares(x, i, 1.0, out)


@parallel_kernel
def _differentiate(y, grad, chunk, out):
    rows, size = y.shape
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            total = simd.widen(simd.full(y, LANES, 0))
            for j in range(0, size, LANES):
                share, g = simd.load_first(y, i, j, LANES, size - j, 0), simd.load_first(grad, i, j, LANES, size - j, 0)
                total = simd.fma(simd.widen(share), simd.widen(g), total)
            total = simd.lane(simd.reduce(simd.add, total), 0)
            for j in range(0, size, LANES):
                share, g = simd.load_first(y, i, j, LANES, size - j, 0), simd.load_first(grad, i, j, LANES, size - j, 0)
                simd.store_first(out, i, j, simd.mul(simd.sub(g, simd.like(g, total)), share), size - j)


@parallel_kernel
def _losses(x, labels, chunk, out):
    rows = len(x)
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            top, number = _largest(x, i), _number(x, i, labels[i])
            total = _count(x, i, top) if np.isinf(top) else _total_of(x, i, top, out)
            if np.isinf(top):
                loss = -np.log(_share(number, top, total))
            else:
                loss = np.log(total) - (number - top)
            simd.store(out, i, 0, simd.full(out, 1, loss))


@parallel_kernel
def _gradients(x, labels, grad, chunk, out):
    rows = len(x)
    for c in prange((rows + chunk - 1) // chunk):
        for i in range(c * chunk, min(rows, (c + 1) * chunk)):
            by = _number(grad, i, 0)
            top, total = _put_shares(x, i, by, out)
            # The difference is rounded once.
            by_label = (_share(_number(x, i, labels[i]), top, total) - 1) * by
            simd.store(out, i, labels[i], simd.full(out, 1, by_label))


def _rows(x):
    """An array as the matrix of its rows along the last axis, and how many of them a step of a ``prange`` takes."""
    size = x.shape[-1]
    return x.reshape(x.size // size, size), max(1, CHUNK // size)


def softmax_last(x):
    """The softmax along the last axis."""
    kind, y = to_common_type(x)
    out = output(x.shape, kind)
    if out.size:
        (rows, chunk), (target, _) = _rows(y), _rows(out)
        _softmax(4 * out.size, rows, chunk, target)
    return round_like(x, out)


def softmax_grad_last(y, grad):
    """The gradient of ``softmax_last``, by its result: ``(grad - sum(grad * y)) * y``."""
    kind, shares, grad = to_common_type(y, grad)
    out = output(y.shape, kind)
    if out.size:
        (rows, chunk), (grads, _), (target, _) = map(_rows, (shares, grad, out))
        _differentiate(2 * out.size, rows, grads, chunk, target)
    return round_like(y, out)


def cross_entropy(x, labels):
    """Minus the logarithm of the softmax of each row at its label, ``(rows, 1)``; labels are checked."""
    kind, y = to_common_type(x)
    out = output((len(x), 1), kind)
    if out.size:
        rows, chunk = _rows(y)
        _losses(4 * x.size, rows, labels, chunk, out)
    return round_like(x, out)


def cross_entropy_grad(x, labels, grad):
    """The gradient of ``cross_entropy`` by x."""
    kind, y, grad = to_common_type(x, grad)
    out = output(x.shape, kind)
    if out.size:
        rows, chunk = _rows(y)
        _gradients(4 * x.size, rows, labels, grad, chunk, out)
    return round_like(x, out)
