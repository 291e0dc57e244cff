"""CPU kernels of lodkit/ops/sequence_arithmetic.py."""

from __future__ import annotations

import functools

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_values, matrix, native, upcast
from ...jit import parallel_kernel, prange, settings, simd
from ...jit.search import segment_of
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import sequence_arithmetic as ops
from ...registry import Dense
from ..common.sequence_arithmetic import STEPS, table_of
from .primitives.reduce import reduce_rows, width_of
from .primitives.reduce_kernels import LANES
from .primitives.softmax import sums_of_products
from .primitives.templates import row_kernel


@functools.cache
def _items_kernel(op, width):
    """Kernel of ``out[i] = x[i] op values[s]``."""
    step = STEPS[op]

    def body(i, s, j, x, values, unused, offsets, out):
        simd.store(out, i, j, step(simd.load(x, i, j, width), simd.load(values, s, j, width)))

    return row_kernel(body, width)


@functools.cache
def _numbers_kernel(op):
    """The same where a sequence has one number: its rows are a run of numbers, ``columns`` a row."""
    step = STEPS[op]

    @parallel_kernel
    def kernel(x, values, offsets, columns, chunk, out):
        rows = offsets[-1]
        for c in prange((rows + chunk - 1) // chunk):
            first, last = c * chunk, min(rows, (c + 1) * chunk)
            s = segment_of(offsets, first)
            while first < last:
                end = min(offsets[s + 1], last)
                by, stop = simd.full(x, LANES, simd.lane(simd.load(values, s, 0, 1), 0)), end * columns
                for i in range(first * columns, stop, LANES):
                    lanes = simd.load_first(x, 0, i, LANES, stop - i, 1)
                    simd.store_first(out, 0, i, step(lanes, by), stop - i)
                first, s = end, s + 1

    return kernel


@functools.cache
def _positions_kernel(width):
    """Kernel of ``out[i] = alpha * x[i] + table[position of i]``."""

    def body(i, s, j, x, table, alpha, offsets, out):
        scaled = simd.mul(simd.load(x, i, j, width), simd.full(x, width, alpha))
        simd.store(out, i, j, simd.add(scaled, simd.load(table, i - offsets[s], j, width)))

    return row_kernel(body, width)


@ops.per_sequence.kernel("cpu")
def per_sequence(x: LoDTensor, values: Dense | LoDTensor, /, *, op, level, out=None):
    rows, by, offsets = x.values, values_of(values), x.row_offsets(level)
    one = ops.check_sequences(x, rows.dtype, values, by.shape, by.dtype, op, level)
    dtype = native(rows.dtype)
    out = arrays.output(rows.shape, dtype, out)
    if rows.size:
        computed = np.dtype(np.float32) if dtype == np.float16 else dtype  # values may be no halves: lengths, sums
        source, to, by = matrix(rows), matrix(out), matrix(by.astype(computed, copy=False))
        columns = source.shape[1]
        if one or columns == 1:
            flat = source.reshape(1, -1), by, offsets, columns, settings.chunk_rows, to.reshape(1, -1)
            _numbers_kernel(op)(rows.size, *flat)
        else:
            _items_kernel(op, width_of(columns))(rows.size, source, by, 0, offsets, settings.chunk_rows, to)
    return x.with_values(out)


@ops.per_sequence_values_grad.kernel("cpu")
def per_sequence_values_grad(x: LoDTensor, values: Dense | LoDTensor, grad: Dense, /, *, op, level):
    rows, by, offsets = x.values, values_of(values), x.row_offsets(level)
    dtype = check_values(rows.dtype, "the gradient", floating=True)
    check_values(by.dtype, "the gradient", floating=True)
    one = ops.check_sequences(x, dtype, values, by.shape, by.dtype, op, level)
    flow = matrix(check_gradient(grad, rows.shape).astype(dtype, copy=False))
    if op in ("mul", "div"):
        sums = sums_of_products(matrix(rows), flow, offsets)
    else:
        sums = np.zeros((len(offsets) - 1, flow.shape[1]))
        reduce_rows("sum", flow, None, None, None, offsets, 0.0, sums)
    return ops.finished((sums.sum(axis=1) if one else sums).reshape(by.shape), by, op)


def _encode(x, offsets, alpha, beta, out):
    if x.size:
        table = table_of(offsets, x.shape[1:], beta, upcast(out[:0]).dtype)
        source = matrix(x)
        kernel = _positions_kernel(width_of(source.shape[1]))
        kernel(x.size, source, table, table.dtype.type(alpha), offsets, settings.chunk_rows, matrix(out))


@ops.add_position_encoding.kernel("cpu")
def encode(x: LoDTensor, /, *, alpha, beta, level, out=None):
    out = arrays.output(x.shape, ops.check_encoded(x.dtype, x.shape), out)
    _encode(x.values, x.row_offsets(level), alpha, beta, out)
    return x.with_values(out)


@ops.add_position_encoding.kernel("cpu")
def encode_batch(x: Dense, /, *, alpha, beta, level, out=None):
    offsets, shape = ops.batched(x.shape)
    out = arrays.output(x.shape, ops.check_encoded(x.dtype, shape), out)
    _encode(x.reshape(shape), offsets, alpha, beta, out.reshape(shape))
    return out
