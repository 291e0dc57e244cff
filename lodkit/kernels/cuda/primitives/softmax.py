"""Softmax of segments on a GPU: reductions of segments, as balanced as those are, and flat passes."""

from __future__ import annotations

import functools

from ....arrays.cuda import device, vector
from ....jit import simd
from . import row_kernels as kernels
from .gradients import computing_as, over_rows
from .offsets import offsets_like
from .reduce import reduce_rows, width_of


@functools.cache
def _softmax_kernel():
    """``x[i] / total[s]``, 0 where the total is: a = exponentials, b = totals."""

    @device
    def share(i, s, j, exponentials, totals, unused, ids, offsets, padding, height, columns, out):
        x, total = vector.load(exponentials, i * columns + j, 1), vector.load(totals, s * columns + j, 1)
        result = simd.div(x, total)
        if simd.lane(total, 0) == 0:
            result = simd.like(result, 0)
        vector.store(out, i * columns + j, result)

    return kernels.row_kernel(share, 1)


@functools.cache
def _log_softmax_kernel():
    """``x[i] - top[s] - log(total[s])``; under an infinite maximum that of equal shares: a = values, b = tops,
    c = totals.
    """

    @device
    def log_share(i, s, j, values, tops, totals, ids, offsets, padding, height, columns, out):
        x, at = vector.load(values, i * columns + j, 1), s * columns + j
        top, less = vector.load(tops, at, 1), simd.log(vector.load(totals, at, 1))
        result = simd.sub(simd.sub(x, top), less)
        number, most = simd.lane(x, 0), simd.lane(top, 0)
        if most - most != 0 and most == most:
            result = simd.sub(simd.like(x, 0), less)
            if number != most or most < 0:
                result = simd.log(simd.like(x, 0))
        vector.store(out, i * columns + j, result)

    return kernels.row_kernel(log_share, 1)


@functools.cache
def _products_kernel(width, logs):
    """``y[i] * grad[i]``, for logs grad where y is not -inf: a = results, b = grad."""

    @device
    def product(i, s, j, result, grad, unused, ids, offsets, padding, height, columns, out):
        y, g = vector.load(result, i * columns + j, width), vector.load(grad, i * columns + j, width)
        vector.store(out, i * columns + j, simd.unless_minus_inf(g, y) if logs else simd.mul(y, g))

    return kernels.row_kernel(product, width)


@functools.cache
def _gradient_kernel(width, logs):
    """``(grad[i] - total[s]) * y[i]``, for logs ``grad[i] - total[s] * exp(y[i])``: a = results, b = grad, c = totals.

    For logs, an entry of -inf gives and gets nothing.
    """

    @device
    def gradient(i, s, j, result, grad, totals, ids, offsets, padding, height, columns, out):
        y, g = vector.load(result, i * columns + j, width), vector.load(grad, i * columns + j, width)
        total = vector.load(totals, s * columns + j, width)
        if logs:
            x = simd.sub(simd.unless_minus_inf(g, y), simd.mul(simd.exp(y), total))
        else:
            x = simd.mul(simd.sub(g, total), y)
        vector.store(out, i * columns + j, x)

    return kernels.row_kernel(gradient, width)


def softmax_rows(values, offsets, logs, out):
    """Put the softmax of every column of every segment, or its logarithm, into ``out``."""
    if not values.size:
        return
    offsets = offsets_like(values, offsets)
    wide, columns, shape = values.compute_dtype, values.columns, (len(offsets), *values.shape[1:])
    tops, totals = values.like(shape, wide), values.like(shape, wide)
    exponentials = values.like(values.shape, wide)
    reduce_rows("max", values, None, None, None, offsets, 0, tops)
    over_rows(kernels.exponentials_kernel(), 1, values, tops, None, None, None, offsets, columns, exponentials)
    reduce_rows("sum", exponentials, None, None, None, offsets, 0, totals)
    if logs:
        over_rows(_log_softmax_kernel(), 1, values, tops, totals, None, None, offsets, columns, out)
    else:
        over_rows(_softmax_kernel(), 1, exponentials, totals, None, None, None, offsets, columns, out)


def softmax_grad_rows(y, grad, offsets, logs, out):
    """Put the gradient of softmax, or of its logarithm, whose result is ``y``, into ``out``."""
    if not y.size:
        return
    grad, offsets, columns = computing_as(y, grad), offsets_like(y, offsets), y.columns
    products, totals = y.like(y.shape, y.compute_dtype), y.like((len(offsets), *y.shape[1:]), y.compute_dtype)
    width = width_of(columns, y, grad, products)
    over_rows(_products_kernel(width, logs), width, y, grad, None, None, None, offsets, columns, products)
    reduce_rows("sum", products, None, None, None, offsets, 0, totals)
    over_rows(_gradient_kernel(width, logs), width, y, grad, totals, None, None, offsets, columns, out)
