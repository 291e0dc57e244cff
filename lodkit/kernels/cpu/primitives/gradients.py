"""Gradients of segment reductions, for sequence_pool, segment_reduce and embedding_bag alike."""

from __future__ import annotations

import numpy as np

from .... import arrays
from ....arrays import FLOATS, check_values, matrix, native, to_dtype, upcast
from ....jit import settings
from ....ops.shared.reductions import check_grad_output
from .gather import repeat_rows, rows_to_read
from .gradient_kernels import (
    factors,
    logsumexp_shares,
    place,
    plain,
    products_of_others,
    repeat_few,
    row_products,
    spread,
)
from .indices import argreduce_rows
from .reduce import NO_IDS, width_of

_NO_FACTORS = {np.dtype(kind): np.empty(0, kind) for kind in ("float32", "float64")}


def values_grad(values, ids, padding_idx, offsets, weights, out, grad, reduce):
    """The gradient by the reduced rows: ``values[ids]``, or all values where ids is None.

    Returns an array with one row a row that was reduced.
    """
    dtype = values.dtype
    if dtype not in FLOATS:
        dtype = check_values(dtype, "the gradient", floating=True, bfloat16=True)
    rows = len(values) if ids is None else len(ids)
    if out is not None or grad.dtype not in FLOATS or grad.shape != (len(offsets) - 1, *values.shape[1:]):
        check_grad_output(values, offsets, out, grad)
    g = grad if grad.dtype is dtype else to_dtype(grad, dtype)
    g = matrix(g if dtype in _NO_FACTORS else upcast(g))
    if reduce in ("max", "min", "first", "last"):
        result = np.zeros((rows, g.shape[1]), g.dtype)
        place(g.size, g, _winners(values, ids, padding_idx, offsets, reduce, g.shape), result)
    elif reduce in ("logsumexp", "logmeanexp", "prod"):
        x, result = _look_up_rows(values, ids, padding_idx), np.zeros((rows, g.shape[1]), g.dtype)
        kernel = products_of_others if reduce == "prod" else logsumexp_shares(width_of(x.shape[1]))
        kernel(x.size * 8, x, offsets, g, result)
    elif weights is None:
        result = _repeat(g, None if reduce == "sum" else factors(reduce, offsets, None, g.dtype), offsets)
    else:
        result, weights = arrays.output((rows, g.shape[1]), g.dtype), plain(weights)
        scale, weights = factors(reduce, offsets, weights, g.dtype), weights.astype(g.dtype, copy=False)
        spread(result.size, g, scale, weights, offsets, settings.chunk_rows, result)
    if values.ndim != 2:
        result = result.reshape(rows, *values.shape[1:])
    return result if result.dtype is dtype else to_dtype(result, dtype)


def _repeat(grad, scale, offsets):
    """Row s of ``grad``, times a factor, for every row of segment s."""
    rows = offsets.item(-1)
    if rows * grad.shape[1] >= settings.parallel_from:
        return repeat_rows(grad if scale is None else grad * scale[:, None], offsets)
    result = np.empty((rows, grad.shape[1]), grad.dtype)
    repeat_few(grad, _NO_FACTORS[grad.dtype] if scale is None else scale, offsets, result)
    return result


def _look_up_rows(values, ids, padding_idx):
    """The rows that were reduced, as a matrix."""
    values, ids, padding_idx = rows_to_read(values, ids, padding_idx)
    x = matrix(upcast(values))
    if ids is not None:
        x = x[ids]
        x[ids == padding_idx] = 0
    return x


def _winners(values, ids, padding_idx, offsets, reduce, shape):
    """Row that gets each segment's gradient, -1 for none."""
    if reduce in ("max", "min"):
        return argreduce_rows(reduce, values, ids, padding_idx, offsets, shape)
    row = {"first": offsets[:-1], "last": offsets[1:] - 1}[reduce]
    row = np.where(offsets[1:] > offsets[:-1], row, -1)
    return np.ascontiguousarray(np.broadcast_to(row[:, None], shape))


def weights_grad(values, ids, padding_idx, offsets, weights, out, grad, reduce):
    """The gradient by the weights: each row's share in the result, times the output gradient."""
    check_grad_output(values, offsets, out, grad)
    values, ids, padding_idx = rows_to_read(values, ids, padding_idx)
    x = matrix(upcast(values))
    g = matrix(to_dtype(grad, x.dtype))
    base = matrix(to_dtype(out, x.dtype)) if reduce == "mean" else np.zeros((len(g), g.shape[1]), x.dtype)
    scale = factors(reduce, offsets, plain(weights) if reduce == "mean" else None, np.float64)
    result = np.empty(len(weights), np.float64)
    where, padding = (NO_IDS, -1) if ids is None else (ids, -1 if padding_idx is None else padding_idx)
    row_products(len(result) * g.shape[1], x, where, padding, offsets, base, g, scale, settings.chunk_rows, result)
    return to_dtype(result, native(weights.dtype))
