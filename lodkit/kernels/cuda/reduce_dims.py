"""CUDA kernels of lodkit/ops/reduce_dims.py: the front is one segment of rows, the back many of numbers."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import fill
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import view
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
from .conversions import from_lengths
from .primitives.gather import put_rows
from .primitives.gradients import values_grad, weights_grad
from .primitives.offsets import cut, inspected
from .primitives.reduce import reduce_into
from .primitives.row_kernels import segment_of
from .primitives.views import viewed


@cuda.jit
def _places(offsets, segments, n, step, stride, places):
    """Where the elements of every column are: its first one at ``s * stride``, the next a ``step`` further."""
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, segments, i)
        places[i] = s * stride + (i - vector.number(offsets, s)) * step
        i += cuda.gridsize(1)


@cuda.jit
def _even_offsets(length, n, offsets):
    s = cuda.grid(1)
    while s < n:
        offsets[s] = s * length
        s += cuda.gridsize(1)


def _even(data, segments, length):
    """Offsets of segments of one length."""
    offsets = data.like((segments + 1,), np.int64)
    launch(_even_offsets, segments + 1, length, segments + 1, offsets)
    return cut(offsets, inspected(offsets))


def _as_segments(data, weights, lengths, where, num_dims):
    """Rows, which of them (all for None), Offsets, and the shape of the result."""
    rows, columns, kept = check_columns(data, weights, lengths, where, num_dims)
    if lengths is not None:
        offsets = from_lengths(lengths)
        check_longest(lengths.read(), rows)
        places = data.like((offsets.rows,), np.int64)
        steps = (columns, 1) if where == "front" else (1, rows)
        launch(_places, offsets.rows, offsets.offsets, len(offsets), offsets.rows, *steps, places)
        return data.reshape(data.size), places, offsets, kept
    if where == "front":
        return data.reshape(rows, *kept), None, _even(data, 1, rows), kept
    return data.reshape(data.size), None, _even(data, columns, rows), kept


@reduce_dims.kernel("cuda")
def run(data: Dense, weights: Dense | None = None, lengths: Dense | None = None, /, *, reduce, where, num_dims):
    data, weights, lengths = viewed(data), viewed(weights), viewed(lengths)
    check_weighted(reduce, weights)
    values, places, offsets, kept = _as_segments(data, weights, lengths, where, num_dims)
    return reduce_into(values, places, weights, None, offsets, reduce, 0.0).reshape(*kept).array


@reduce_dims_grad.kernel("cuda")
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
    data, out, grad, weights, lengths = map(viewed, (data, out, grad, weights, lengths))
    check_values(data.dtype, "the gradient", floating=True)
    values, places, offsets, kept = _as_segments(data, weights, lengths, where, num_dims)
    check_flow_like(kept, out, grad)
    shape = (len(offsets), *values.shape[1:])
    rows = values_grad(values, places, None, offsets, weights, out.reshape(*shape), grad.reshape(*shape), reduce)
    if places is None:
        return rows.reshape(*data.shape).array
    result = fill(data.like((data.size,)), 0)
    put_rows(places, rows, result)
    return result.reshape(*data.shape).array


@reduce_dims_weights_grad.kernel("cuda")
def run_weights_grad(data: Dense, out: Dense, grad: Dense, weights: Dense, /, *, reduce, num_dims):
    data, out, grad, weights = map(view, (data, out, grad, weights))
    check_weighted(reduce, weights)
    values, _, offsets, kept = _as_segments(data, weights, None, "front", num_dims)
    check_flow_like(kept, out, grad)
    shape = (1, *kept)
    return weights_grad(values, None, None, offsets, weights, out.reshape(*shape), grad.reshape(*shape), reduce).array
