"""CUDA kernels of lodkit/ops/sequence_arithmetic.py: passes over rows with their segments."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays.cuda import convert, elementwise, vector
from ...jit import simd
from .primitives import row_kernels as kernels
from .primitives.gradients import launch_rows, sums_of_products, upcast_like
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_rows, width_of


@functools.cache
def _positions_kernel(width):
    """``alpha * x[i] + table[position of i]``: a = x, b = table, c = alpha."""

    def encode(i, s, j, x, table, alpha, ids, offsets, padding, height, columns, out):
        scaled = vector.load(x, i * columns + j, width)
        scaled = simd.mul(scaled, simd.like(scaled, vector.number(alpha, 0)))
        at = (i - vector.number(offsets, s)) * columns + j
        vector.store(out, i * columns + j, simd.add(scaled, vector.load(table, at, width)))

    return kernels.row_kernel(encode, width)


@elementwise
def _finish_division(i, sums, values, out):
    by = vector.load(values, i, 1)
    total = simd.div(simd.div(vector.load(sums, i, 1), by), by)
    vector.store(out, i, simd.sub(simd.like(total, 0), total))


@elementwise
def _negate(i, sums, out):
    total = vector.load(sums, i, 1)
    vector.store(out, i, simd.sub(simd.like(total, 0), total))


def values_grad(op, is_number, rows, by, grad, offsets):
    """Gradient of ``per_sequence`` by its values, ``by``."""
    g, offsets = upcast_like(rows, grad), offsets_like(rows, offsets)
    if op in ("mul", "div"):
        sums = sums_of_products(rows, g, offsets)
    else:
        sums = rows.like((len(offsets), *rows.shape[1:]), rows.compute_dtype)
        reduce_rows("sum", g, None, None, None, offsets, 0, sums)
    if is_number:
        items, whole = np.arange(len(offsets) + 1) * rows.columns, sums.like((len(offsets),))
        reduce_rows("sum", sums.reshape(sums.size), None, None, None, offsets_like(rows, items), 0, whole)
        sums = whole
    if op in ("add", "mul"):
        return convert(sums, by.dtype).reshape(by.shape)
    if op == "div":
        return _finish_division.into(by.like(by.shape), sums, upcast_like(sums, by))
    if op == "sub":
        return _negate.into(by.like(by.shape), sums)
    raise KeyError(op)


def encode(rows, table, offsets, alpha, out):
    """``out[i] = alpha * rows[i] + table[position of i]``."""
    table, factor = rows.send(table), rows.send(np.array([alpha]))
    width = width_of(rows.columns, rows, table, out)
    launch_rows(_positions_kernel(width), width, offsets_like(rows, offsets), out, rows, table, factor)
