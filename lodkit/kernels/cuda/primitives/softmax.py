"""Softmax of segments on a GPU: reductions of segments, as balanced as those are, and flat passes."""

from __future__ import annotations

import functools

from ....arrays.cuda import device, vector
from ....jit import simd
from . import row_kernels as kernels
from .gradients import computing_as, exponentials_of, over_rows, sums_of_products
from .offsets import offsets_like
from .reduce import width_of


@kernels.row_kernel
def _log_softmax_kernel(i, s, j, values, tops, totals, ids, offsets, padding, height, columns, out):
    """``x[i] - top[s] - log(total[s])``, of equal shares under an infinite top: a = values, b = tops, c = totals."""
    x, at = vector.load(values, i * columns + j, 1), s * columns + j
    top, less = vector.load(tops, at, 1), simd.log(vector.load(totals, at, 1))
    result = simd.sub(simd.sub(x, top), less)
    number, most = simd.lane(x, 0), simd.lane(top, 0)
    if most - most != 0 and most == most:
        result = simd.sub(simd.like(x, 0), less)
        if number != most or most < 0:
            result = simd.log(simd.like(x, 0))
    vector.store(out, i * columns + j, result)


@device
def _grad_of_finite(y, grad):
    return simd.unless_minus_inf(grad, y)


@functools.cache
def _gradient_kernel(width, logs):
    """``(grad[i] - total[s]) * y[i]``, for logs ``grad[i] - total[s] * exp(y[i])``: a = results, b = grad, c = totals.

    For logs, an entry of -inf gives and gets nothing.
    """

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
    exponentials, tops, totals = exponentials_of(values, offsets)
    if logs:
        over_rows(_log_softmax_kernel, 1, offsets, out, values, tops, totals)
    else:
        over_rows(kernels.map_kernel(kernels.share_of), 1, offsets, out, exponentials, totals)


def softmax_grad_rows(y, grad, offsets, logs, out):
    """Put the gradient of softmax, or of its logarithm, whose result is ``y``, into ``out``."""
    if not y.size:
        return
    grad, offsets, width = computing_as(y, grad), offsets_like(y, offsets), width_of(y.columns, y, grad)
    totals = sums_of_products(y, grad, offsets, _grad_of_finite if logs else simd.mul)
    over_rows(_gradient_kernel(width, logs), width, offsets, out, y, grad, totals)
