"""CUDA kernels of lodkit/ops/segments.py."""

from __future__ import annotations

from ...arrays import check_rows
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.memory import view
from ...ops.segments import segment_reduce, segment_reduce_grad, segment_reduce_weights_grad
from ...ops.shared.reductions import check_weighted, check_weights
from ...registry import Dense
from .conversions import grouped, integers
from .primitives.gather import gather, put_rows
from .primitives.gradients import values_grad, weights_grad
from .primitives.merge import table_grad
from .primitives.reduce import reduce_into


def _reduced_rows(data, segments, weights, indices, by, num_segments):
    """What is reduced: which rows of data (all for None), Offsets over them, their weights, and their order."""
    chosen, rows = None, len(check_rows(data, "data"))
    if indices is not None:
        chosen = checked_ids(integers(indices, "indices"), rows, "indices")
        rows = len(chosen)
    offsets, order = grouped(segments, by, rows, num_segments)
    if weights is not None:
        weights = check_weights(view(weights), rows, data.dtype)
    if order is not None:
        chosen = order if chosen is None else _taken(chosen, order)
        weights = None if weights is None else _taken(weights, order)
    return chosen, offsets, weights, order


def _taken(vector, order):
    taken = vector.like(vector.shape)
    gather(vector, order, None, taken)
    return taken


@segment_reduce.kernel("cuda")
def run(
    data: Dense,
    segments: Dense,
    weights: Dense | None = None,
    indices: Dense | None = None,
    /,
    *,
    by,
    reduce,
    num_segments,
    pad_value,
    is_sparse,
    dtype,
    out=None,
):
    check_weighted(reduce, weights)
    data = view(data)
    chosen, offsets, weights, _ = _reduced_rows(data, segments, weights, indices, by, num_segments)
    return reduce_into(data, chosen, weights, None, offsets, reduce, pad_value, out, dtype).array


@segment_reduce_grad.kernel("cuda")
def run_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense | None = None,
    indices: Dense | None = None,
    /,
    *,
    by,
    reduce,
    num_segments,
    is_sparse,
):
    data = view(data)
    chosen, offsets, weights, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    rows = values_grad(data, chosen, None, offsets, weights, view(out), grad, reduce)
    if indices is not None:
        return table_grad(data, chosen, rows, None, is_sparse)
    return _put_back(rows, order).array


@segment_reduce_weights_grad.kernel("cuda")
def run_weights_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense,
    indices: Dense | None = None,
    /,
    *,
    by,
    reduce,
    num_segments,
):
    check_weighted(reduce, weights)
    data = view(data)
    chosen, offsets, weights, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    return _put_back(weights_grad(data, chosen, None, offsets, weights, view(out), grad, reduce), order).array


def _put_back(rows, order):
    """Rows in the order that they had before they were brought together."""
    if order is None:
        return rows
    result = rows.like(rows.shape)
    put_rows(order, rows, result)
    return result
