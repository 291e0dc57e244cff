"""CPU kernels of lodkit/ops/weighted_sums.py: into rows, each is read and written once for every array."""

from __future__ import annotations

import numpy as np

from .. import arrays, simd
from ..arrays import check_gradient, check_rows, check_values, matrix, native, refuse_overlap, wide
from ..jit import prange, settings, threaded
from ..ops.scatter import check_target
from ..ops.weighted_sums import (
    check_alike,
    check_weights,
    pairs_of,
    scatter_weighted_sum,
    weighted_sum,
    weighted_sum_weights_grad,
)
from ..registry import Dense
from ._reduce import reduce_rows
from ._rows import AHEAD, checked_ids
from ._sort import sort_rows


def _number(weight, dtype):
    """The one number of an array, in a type."""
    return np.asarray(weight).reshape(-1).astype(dtype)[0]


@threaded
def _add_rows(rows, sources, values, scales, weight, chunk, out):
    """``out[rows[u]] = scales[u] * out[rows[u]] + weight * values[sources[u]]``; rows are listed once each."""
    n, width = len(rows), out.shape[1]
    size = out.itemsize * width
    for c in prange((n + chunk - 1) // chunk):
        for u in range(c * chunk, min(n, (c + 1) * chunk)):
            simd.prefetch(out, rows[min(u + AHEAD, n - 1)], 0, size)
            simd.prefetch(values, sources[min(u + AHEAD, n - 1)], 0, size)
            for d in range(width):
                out[rows[u], d] = out[rows[u], d] * scales[u] + values[sources[u], d] * weight


@scatter_weighted_sum.kernel("cpu")
def add_weighted(data: Dense, weight: Dense, ids: Dense, /, *rest: Dense):
    xs, weights = pairs_of("scatter_weighted_sum", rest)
    ids = checked_ids(ids, len(check_rows(data, "data")))
    check_target("scatter_weighted_sum", data, ids.shape, [(f"x{i}", x) for i, x in enumerate(xs, 1)])
    check_weights("scatter_weighted_sum", (weight, *weights), data.dtype)
    refuse_overlap("data", data, (weight, ids, *rest))
    if not data.size or not ids.size:
        return data
    order, starts, rows = sort_rows(ids.reshape(-1), len(data))
    if data.dtype == np.float16:  # as float32, rounded once
        total, at = wide(data[rows]), np.arange(len(rows))
    else:
        total, at = data, rows
    with np.errstate(over="ignore"):
        scales = np.power(_number(weight, total.dtype), np.diff(starts), dtype=total.dtype)
    for x, w in zip(xs, weights, strict=True):
        values = matrix(wide(x.reshape(ids.size, *data.shape[1:])))
        sources = _sums(values, order, starts)
        factor = _number(w, total.dtype)
        _add_rows(values.size, at, *sources, scales, factor, settings.chunk_rows, matrix(total))
        scales = np.ones_like(scales)
    if total is not data:
        data[rows] = total
    return data


def _sums(values, order, starts):
    """The sums of runs, and where each stands; the values themselves where every run is one row."""
    runs = len(starts) - 1
    if runs == len(order):
        return order, values
    sums = np.empty((runs, values.shape[1]), np.int64 if values.dtype.kind == "i" else values.dtype)
    reduce_rows("sum", values, order, None, None, starts, sums.dtype.type(0), sums)
    return np.arange(runs), sums


@weighted_sum.kernel("cpu")
def run_sum(x: Dense, weight: Dense, /, *rest: Dense, out=None):
    xs, weights = pairs_of("weighted_sum", (x, weight, *rest))
    dtype = check_alike(xs)
    check_weights("weighted_sum", weights, dtype)
    total = arrays.output(x.shape, dtype, out) if dtype != np.float16 else np.empty(x.shape, np.float32)
    np.multiply(wide(x), _number(weight, total.dtype), out=total)
    for one, w in zip(xs[1:], weights[1:], strict=True):
        total += wide(one) * _number(w, total.dtype)
    if dtype != np.float16:
        return total
    result = arrays.output(x.shape, dtype, out)
    result[...] = total
    return result


@weighted_sum_weights_grad.kernel("cpu")
def run_weights_grad(x: Dense, weight: Dense, grad: Dense, /):
    check_values(x.dtype, "the gradient", floating=True)
    check_values(weight.dtype, "the gradient by a weight", floating=True)
    check_weights("weighted_sum_weights_grad", (weight,), x.dtype)
    check_gradient(grad, x.shape)
    total = np.multiply(x, grad, dtype=np.float64).sum()
    return np.full(weight.shape, total, native(weight.dtype))
