"""CPU kernels of lodkit/ops/reduce_dims.py: the front is one segment of rows, the back many of numbers."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values
from ...jit import njit
from ...ops.reduce_dims import (
    check_columns,
    check_flow_like,
    check_longest,
    reduce_dims,
    reduce_dims_grad,
    reduce_dims_weights_grad,
)
from ...ops.shared.reductions import check_weighted
from ...registry import Dense
from .conversions import lengths_to_offsets
from .primitives.gradients import values_grad, weights_grad
from .primitives.reduce import reduce_into


@njit
def _places(offsets, step, stride, places):
    """Where the elements of every column are: its first one at ``s * stride``, the next a ``step`` further."""
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            places[i] = s * stride + (i - offsets[s]) * step


def _as_segments(data, weights, lengths, where, num_dims):
    """Rows, which of them (all for None), offsets, and the shape of the result."""
    rows, columns, kept = check_columns(data, weights, lengths, where, num_dims)
    if lengths is not None:
        offsets = lengths_to_offsets(lengths)
        check_longest(np.diff(offsets), rows)
        places = np.empty(offsets[-1], np.int64)
        _places(offsets, *((columns, 1) if where == "front" else (1, rows)), places)
        return data.reshape(-1), places, offsets, kept
    if where == "front":
        return data.reshape(rows, *kept), None, np.array([0, rows]), kept
    return data.reshape(-1), None, np.arange(columns + 1) * rows, kept


@reduce_dims.kernel("cpu")
def run(data: Dense, weights: Dense | None = None, lengths: Dense | None = None, /, *, reduce, where, num_dims):
    check_weighted(reduce, weights)
    values, places, offsets, kept = _as_segments(data, weights, lengths, where, num_dims)
    return reduce_into(values, places, weights, None, offsets, reduce, 0.0).reshape(kept)


@reduce_dims_grad.kernel("cpu")
def run_grad(
    data: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense | None = None,
    lengths: Dense | None = None,
    /,
    *,
    reduce,
    where,
    num_dims,
):
    check_values(data.dtype, "the gradient", floating=True)
    values, places, offsets, kept = _as_segments(data, weights, lengths, where, num_dims)
    check_flow_like(kept, out, grad)
    shape = (len(offsets) - 1, *values.shape[1:])
    rows = values_grad(values, places, None, offsets, weights, out.reshape(shape), grad.reshape(shape), reduce)
    if places is None:
        return rows.reshape(data.shape)
    result = np.zeros(data.size, rows.dtype)
    result[places] = rows
    return result.reshape(data.shape)


@reduce_dims_weights_grad.kernel("cpu")
def run_weights_grad(data: Dense, out: Dense, grad: Dense, weights: Dense, /, *, reduce, num_dims):
    check_weighted(reduce, weights)
    values, _, offsets, kept = _as_segments(data, weights, None, "front", num_dims)
    check_flow_like(kept, out, grad)
    shape = (1, *kept)
    return weights_grad(values, None, None, offsets, weights, out.reshape(shape), grad.reshape(shape), reduce)
