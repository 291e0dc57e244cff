"""Weighted sums: into rows, by their sorted ids, each row read and written once, and of whole arrays."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import matrix, native, upcast
from ...jit import lower_bound, parallel_kernel, prange, settings, simd
from ...jit.llvm.vectors import COMPUTE_DTYPE
from .primitives.sort import sort_rows
from .primitives.update_kernels import run_sum_of, whole_width
from .primitives.update_states import LEVEL, ROWS_AHEAD

# Elements of a chunk, per row of the chunks of other kernels.
CHUNK = 16


def _number(weight, dtype):
    """The one number of an array, in a type."""
    return weight.reshape(-1).astype(dtype, copy=False)[0]


@functools.cache
def _rows_kernel(width):
    """Kernel of a weighted sum into rows: a row is read and written once, chunks take the runs that start in theirs."""
    run_sum = run_sum_of(width)

    @parallel_kernel
    def kernel(out, rows, starts, orders, values, scales, weights, chunk, block):
        last = len(rows) - 1
        for c in prange((orders.shape[1] + chunk - 1) // chunk):
            for u in range(lower_bound(starts, c * chunk), min(last + 1, lower_bound(starts, (c + 1) * chunk))):
                for j in range(0, out.shape[1], width):
                    simd.prefetch_lanes(out, rows[min(u + ROWS_AHEAD, last)], j, width, True, LEVEL)
                    simd.prefetch_lanes(values, orders[0, starts[min(u + ROWS_AHEAD, last)]], j, width, True, LEVEL)
                    total = simd.mul(simd.load(out, rows[u], j, width), simd.full(out, width, scales[u]))
                    for m in range(len(weights)):
                        more = run_sum(values, orders[m], values, starts[u], starts[u + 1], j, block)
                        total = simd.add(total, simd.mul(more, simd.full(out, width, weights[m])))
                    simd.store(out, rows[u], j, total)

    return kernel


def add_rows(data, weight, ids, xs, weights):
    """``data[ids] = weight * data[ids] + w1 * x1 ...``"""
    out = matrix(data)
    kind = np.dtype(COMPUTE_DTYPE[out.dtype.name])
    order, starts, rows = sort_rows(ids, len(out))
    orders = order + len(ids) * np.arange(len(xs)).reshape(-1, 1)
    parts = [matrix(x.reshape(len(ids), out.shape[1])) for x in xs]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    with np.errstate(over="ignore"):
        scales = np.power(_number(weight, kind), np.diff(starts), dtype=kind)
    factors = np.array([_number(w, kind) for w in weights])
    kernel = _rows_kernel(whole_width(out.shape[1]))
    kernel(values.size, out, rows, starts, orders, values, scales, factors, settings.chunk_rows, settings.block_rows)


@parallel_kernel
def _add_scaled(x, weight, chunk, out):
    for c in prange((len(x) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(x), (c + 1) * chunk)):
            out[i] += x[i] * weight


def add_arrays(xs, weights, out):
    """``out = w0 * x0 + w1 * x1 ...``, computed in float32 where ``out`` is float16."""
    total = out if out.dtype != np.float16 else np.empty(out.shape, np.float32)
    np.multiply(upcast(xs[0]), _number(weights[0], total.dtype), out=total)
    for one, w in zip(xs[1:], weights[1:], strict=True):
        flat = np.ascontiguousarray(upcast(one), total.dtype).reshape(-1)
        _add_scaled(flat.size, flat, _number(w, total.dtype), CHUNK * settings.chunk_rows, total.reshape(-1))
    if total is not out:
        out[...] = total


def sum_products(x, grad, like):
    """The sum of ``x * grad``, as an array like another."""
    total = np.multiply(x, grad, dtype=np.float64).sum()
    return np.asarray(total, native(like.dtype)).reshape(like.shape)
