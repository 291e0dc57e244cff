"""CPU kernels of lodkit/ops/sequence_arithmetic.py."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import matrix, native
from ...jit import parallel_kernel, prange, settings, simd
from ...jit.search import segment_of
from ...ops.sequence_arithmetic import finished
from ..common.sequence_arithmetic import STEPS
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
    """Kernel of the same with one number per sequence: its rows are a run of numbers, ``columns`` per row."""
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


def apply(op, is_number, rows, by, offsets, out):
    """``out[i] = rows[i] op by[s]``, where ``by`` has an item or a number per segment."""
    kind = np.dtype(np.float32) if out.dtype == np.float16 else out.dtype
    source, to, by = matrix(rows), matrix(out), matrix(by.astype(kind, copy=False))  # lengths, sums: not to float16
    columns = source.shape[1]
    if is_number or columns == 1:
        flat = source.reshape(1, -1), by, offsets, columns, settings.chunk_rows, to.reshape(1, -1)
        _numbers_kernel(op)(rows.size, *flat)
    else:
        _items_kernel(op, width_of(columns))(rows.size, source, by, 0, offsets, settings.chunk_rows, to)


def values_grad(op, is_number, rows, by, grad, offsets):
    """Gradient of ``apply`` by ``by``."""
    g = matrix(grad.astype(native(rows.dtype), copy=False))
    if op in ("mul", "div"):
        sums = sums_of_products(matrix(rows), g, offsets)
    else:
        sums = np.zeros((len(offsets) - 1, g.shape[1]))
        reduce_rows("sum", g, None, None, None, offsets, 0.0, sums)
    return finished((sums.sum(axis=1) if is_number else sums).reshape(by.shape), by, op)


def encode(rows, table, offsets, alpha, out):
    """``out[i] = alpha * rows[i] + table[position of i]``."""
    source = matrix(rows)
    kernel = _positions_kernel(width_of(source.shape[1]))
    kernel(rows.size, source, table, alpha, offsets, settings.chunk_rows, matrix(out))
