"""CPU kernels of lodkit/ops/sequence_arithmetic.py."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import matrix, native
from ...jit import settings, simd
from ...ops.sequence_arithmetic import finish_gradient
from .primitives.reduce import reduce_into, width_of
from .primitives.softmax import sums_of_products
from .primitives.templates import row_kernel


@functools.cache
def _positions_kernel(width):
    """Kernel of ``out[i] = alpha * x[i] + table[position of i]``."""

    def body(i, s, j, x, table, alpha, offsets, out):
        scaled = simd.mul(simd.load(x, i, j, width), simd.full(x, width, alpha))
        simd.store(out, i, j, simd.add(scaled, simd.load(table, i - offsets[s], j, width)))

    return row_kernel(body, width)


def values_grad(op, is_number, rows, by, grad, offsets):
    """Gradient of ``per_sequence`` by its values, ``by``."""
    g = grad.astype(native(rows.dtype), copy=False)
    if op in ("mul", "div"):
        sums = sums_of_products(matrix(rows), matrix(g), offsets)
    else:
        sums = matrix(reduce_into(g, None, None, None, offsets, "sum", 0.0, dtype=np.dtype(np.float64)))
    return finish_gradient((sums.sum(axis=1) if is_number else sums).reshape(by.shape), by, op)


def encode(rows, table, offsets, alpha, out):
    """``out[i] = alpha * rows[i] + table[position of i]``."""
    source = matrix(rows)
    kernel = _positions_kernel(width_of(source.shape[1]))
    kernel(rows.size, source, table, alpha, offsets, settings.chunk_rows, matrix(out))
