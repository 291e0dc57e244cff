"""Kernels of lodkit/ops/sequence_arithmetic.py; the steps of the arithmetic, and the table of positions."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import check_gradient, matrix, native
from ...jit import simd
from ...lod import LoDTensor
from ...ops import sequence_arithmetic as ops
from ...registry import Dense

STEPS = {"add": simd.add, "sub": simd.sub, "mul": simd.mul, "div": simd.div}


@ops.per_sequence.kernel("cpu", "cuda")
def per_sequence(on, x: LoDTensor, values: Dense | LoDTensor, /, *, op, level, out=None):
    rows, by, offsets, is_number = ops.prepare(x, values, op, level)
    out = on.output(rows.shape, native(rows.dtype), out, rows)
    if rows.size:
        on.map_rows(STEPS[op], rows, by, offsets, out, is_number)
    return x.with_values(out)


@ops.per_sequence_values_grad.kernel("cpu", "cuda")
def per_sequence_values_grad(on, x: LoDTensor, values: Dense | LoDTensor, grad, /, *, op, level):
    rows, by, offsets, is_number = ops.prepare(x, values, op, level, "the gradient", floating=True)
    check_gradient(grad, rows.shape)
    return on.sequence_arithmetic.values_grad(op, is_number, rows, by, grad, offsets)


@ops.add_position_encoding.kernel("cpu", "cuda")
def add_position_encoding(on, x: Dense | LoDTensor, /, *, alpha, beta, level, out=None):
    rows, offsets, dtype = ops.prepare_encoding(x, level)
    out = on.output(x.shape, dtype, out, rows)
    if rows.size:
        kind = np.dtype(np.float32) if dtype == np.float16 else dtype
        longest = int((offsets[1:] - offsets[:-1]).max(initial=0))
        table = _table(1 << max(longest - 1, 0).bit_length(), rows.shape[1:], float(beta), kind)
        target = out.reshape(rows.shape) if out.ndim > rows.ndim else out
        on.sequence_arithmetic.encode(rows, matrix(table), offsets, kind.type(alpha), target)
    return x.with_values(out) if isinstance(x, LoDTensor) else out


@functools.lru_cache(8)
def _table(length, item, beta, dtype):
    """``beta`` times the encodings. Lengths are powers of two, so that one table serves many batches."""
    table = (beta * ops.encodings(length, item)).astype(dtype)
    table.flags.writeable = False
    return table
