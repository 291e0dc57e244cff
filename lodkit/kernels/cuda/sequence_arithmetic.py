"""CUDA kernels of lodkit/ops/sequence_arithmetic.py: flat passes over rows that know their segment."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.launch import cuda, device, launch
from ...arrays.cuda.memory import output, view
from ...jit import simd
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import sequence_arithmetic as ops
from ...registry import Dense
from ..common.sequence_arithmetic import STEPS, table_of
from .primitives import row_kernels as kernels
from .primitives.gradients import computing_as, over_rows
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_rows, width_of


@functools.cache
def _kernel(op, width, one):
    """``x[i] op values[s]``, or one number of the segment's: a = x, b = values."""
    step = STEPS[op]

    @device
    def apply(i, s, j, x, values, unused, ids, offsets, padding, height, columns, out):
        lanes = vector.load(x, i * columns + j, width)
        by = simd.like(lanes, vector.number(values, s)) if one else vector.load(values, s * columns + j, width)
        vector.store(out, i * columns + j, step(lanes, by))

    return kernels.row_kernel(apply, width)


@functools.cache
def _products_kernel(width):
    """``x[i] * grad[i]``: a = x, b = grad."""

    @device
    def product(i, s, j, x, grad, unused, ids, offsets, padding, height, columns, out):
        at = i * columns + j
        vector.store(out, at, simd.mul(vector.load(x, at, width), vector.load(grad, at, width)))

    return kernels.row_kernel(product, width)


@functools.cache
def _positions_kernel(width):
    """``alpha * x[i] + table[position of i]``: a = x, b = table, c = alpha."""

    @device
    def encode(i, s, j, x, table, alpha, ids, offsets, padding, height, columns, out):
        scaled = vector.load(x, i * columns + j, width)
        scaled = simd.mul(scaled, simd.like(scaled, vector.number(alpha, 0)))
        at = (i - vector.number(offsets, s)) * columns + j
        vector.store(out, i * columns + j, simd.add(scaled, vector.load(table, at, width)))

    return kernels.row_kernel(encode, width)


@cuda.jit
def _finish_division(sums, values, n, out):
    i = cuda.grid(1)
    while i < n:
        by = vector.load(values, i, 1)
        total = simd.div(simd.div(vector.load(sums, i, 1), by), by)
        vector.store(out, i, simd.sub(simd.like(total, 0), total))
        i += cuda.gridsize(1)


@cuda.jit
def _negate(sums, n, out):
    i = cuda.grid(1)
    while i < n:
        total = vector.load(sums, i, 1)
        vector.store(out, i, simd.sub(simd.like(total, 0), total))
        i += cuda.gridsize(1)


def _looked_at(x, values, op, level):
    rows, by = view(x.values), view(values_of(values))
    one = ops.check_sequences(x, rows.dtype, values, tuple(by.shape), by.dtype, op, level)
    return rows, by, one, offsets_like(rows, x.row_offsets(level))


@ops.per_sequence.kernel("cuda")
def per_sequence(x: LoDTensor, values: Dense | LoDTensor, /, *, op, level, out=None):
    rows, by, one, offsets = _looked_at(x, values, op, level)
    out = output(rows, rows.shape, rows.dtype, out)
    if by.compute_dtype != rows.compute_dtype:
        by = convert(by, rows.compute_dtype)  # not to float16: values may be no halves, such as lengths
    if rows.size:
        columns, width = rows.columns, width_of(rows.columns, rows, out, *([] if one else [by]))
        over_rows(_kernel(op, width, one), width, rows, by, None, None, None, offsets, columns, out)
    return x.with_values(out.array)


@ops.per_sequence_values_grad.kernel("cuda")
def per_sequence_values_grad(x: LoDTensor, values: Dense | LoDTensor, grad: Dense, /, *, op, level):
    rows, by, one, offsets = _looked_at(x, values, op, level)
    check_values(rows.dtype, "the gradient", floating=True)
    check_values(by.dtype, "the gradient", floating=True)
    flow = computing_as(rows, check_gradient(view(grad), rows.shape))
    sums = rows.like((len(offsets), *rows.shape[1:]), rows.compute_dtype)
    if rows.size and op in ("mul", "div"):
        products, width = rows.like(rows.shape, rows.compute_dtype), width_of(rows.columns, rows, flow)
        over_rows(_products_kernel(width), width, rows, flow, None, None, None, offsets, rows.columns, products)
        flow = products
    reduce_rows("sum", flow, None, None, None, offsets, 0, sums)
    if one:
        whole, each = sums.like((len(offsets),), sums.dtype), np.arange(len(offsets) + 1) * rows.columns
        reduce_rows("sum", sums.reshape(sums.size), None, None, None, offsets_like(rows, each), 0, whole)
        sums = whole
    if op in ("add", "mul"):
        return convert(sums, by.dtype).reshape(*by.shape).array
    result = by.like(by.shape)
    if op == "div":
        launch(_finish_division, by.size, sums, computing_as(sums, by), by.size, result)
    else:
        launch(_negate, by.size, sums, by.size, result)
    return result.array


def _encode(x, offsets, alpha, beta, out):
    if x.size:
        table = x.send(table_of(offsets, x.shape[1:], beta, x.compute_dtype))
        width, factor = width_of(x.columns, x, table, out), x.send(np.array([alpha], x.compute_dtype))
        where = offsets_like(x, offsets)
        over_rows(_positions_kernel(width), width, x, table, factor, None, None, where, x.columns, out)


@ops.add_position_encoding.kernel("cuda")
def encode(x: LoDTensor, /, *, alpha, beta, level, out=None):
    values = view(x.values)
    out = output(values, values.shape, ops.check_encoded(values.dtype, values.shape), out)
    _encode(values, x.row_offsets(level), alpha, beta, out)
    return x.with_values(out.array)


@ops.add_position_encoding.kernel("cuda")
def encode_batch(x: Dense, /, *, alpha, beta, level, out=None):
    x = view(x)
    offsets, shape = ops.batched(x.shape)
    out = output(x, x.shape, ops.check_encoded(x.dtype, shape), out)
    _encode(x.reshape(*shape), offsets, alpha, beta, out.reshape(*shape))
    return out.array
