"""CUDA kernels of lodkit/ops/sequence_softmax.py: reductions of segments, as balanced as those are, and flat passes."""

from __future__ import annotations

import functools

from ...arrays import check_values
from ...arrays.cuda import vector
from ...arrays.cuda.launch import device
from ...arrays.cuda.memory import output, view
from ...jit import simd
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_softmax import (
    check_grad_output,
    sequence_log_softmax,
    sequence_log_softmax_grad,
    sequence_softmax,
    sequence_softmax_grad,
)
from ...registry import Dense
from .primitives import row_kernels as kernels
from .primitives.gradients import computing_as, over_rows
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_rows, width_of


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

    An entry of -inf gives and gets nothing in the second.
    """

    @device
    def flow(i, s, j, result, grad, totals, ids, offsets, padding, height, columns, out):
        y, g = vector.load(result, i * columns + j, width), vector.load(grad, i * columns + j, width)
        total = vector.load(totals, s * columns + j, width)
        if logs:
            x = simd.sub(simd.unless_minus_inf(g, y), simd.mul(simd.exp(y), total))
        else:
            x = simd.mul(simd.sub(g, total), y)
        vector.store(out, i * columns + j, x)

    return kernels.row_kernel(flow, width)


def _run(x, level, logs, name, out):
    values = view(x.values)
    dtype = check_values(values.dtype, name, floating=True)
    offsets = offsets_like(values, x.row_offsets(level))
    out = output(values, values.shape, dtype, out)
    if not values.size:
        return x.with_values(out.array)
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
    return x.with_values(out.array)


@sequence_softmax.kernel("cuda")
def softmax(x: LoDTensor, /, *, level, out=None):
    return _run(x, level, False, "sequence_softmax", out)


@sequence_log_softmax.kernel("cuda")
def log_softmax(x: LoDTensor, /, *, level, out=None):
    return _run(x, level, True, "sequence_log_softmax", out)


def _run_grad(out, grad, level, logs, name):
    y = view(out.values)
    grad = computing_as(y, check_grad_output(y, view(grad), name))
    offsets, columns = offsets_like(y, out.row_offsets(level)), y.columns
    result = y.like(y.shape)
    if not y.size:
        return out.with_values(result.array)
    products, totals = y.like(y.shape, y.compute_dtype), y.like((len(offsets), *y.shape[1:]), y.compute_dtype)
    width = width_of(columns, y, grad, products)
    over_rows(_products_kernel(width, logs), width, y, grad, None, None, None, offsets, columns, products)
    reduce_rows("sum", products, None, None, None, offsets, 0, totals)
    over_rows(_gradient_kernel(width, logs), width, y, grad, totals, None, None, offsets, columns, result)
    return out.with_values(result.array)


@sequence_softmax_grad.kernel("cuda")
def softmax_grad(out: LoDTensor, grad: Dense, /, *, level):
    return _run_grad(out, grad, level, False, "sequence_softmax_grad")


@sequence_log_softmax_grad.kernel("cuda")
def log_softmax_grad(out: LoDTensor, grad: Dense, /, *, level):
    return _run_grad(out, grad, level, True, "sequence_log_softmax_grad")
