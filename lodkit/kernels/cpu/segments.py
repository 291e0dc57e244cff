"""CPU kernels of lodkit/ops/segments.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_rows, native, upcast
from ...arrays.ids import checked_ids
from ...lod.levels import check_vector
from ...ops.segments import check_rows as check_sizes
from ...ops.segments import segment_reduce, segment_reduce_grad, segment_reduce_weights_grad
from ...ops.shared.reductions import check_weighted, check_weights, pad_of
from ...registry import Dense
from .conversions import grouped, unsorted_ids
from .primitives.gradients import values_grad, weights_grad
from .primitives.merge import table_grad
from .primitives.reduce import reduce_into, result_of
from .primitives.scatter import SCATTERED, scatter


def _reduced_rows(data, segments, weights, indices, by, num_segments):
    """What is reduced: which rows of data (all for None), offsets over them, their weights, and their order."""
    chosen, rows = None, len(check_rows(data, "data"))
    if indices is not None:
        chosen = checked_ids(check_vector(indices, "indices"), rows, "indices")
        rows = len(chosen)
    offsets, order = grouped(segments, by, rows, num_segments)
    if weights is not None:
        check_weights(weights, rows, data.dtype)
    if order is not None:
        chosen = order if chosen is None else chosen[order]
        weights = None if weights is None else weights[order]
    return chosen, offsets, weights, order


@segment_reduce.kernel("cpu")
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
    if by == "unsorted_ids" and data.ndim == 1 and weights is None and indices is None and reduce in SCATTERED:
        return _scattered(data, segments, reduce, num_segments, pad_value, dtype, out)
    chosen, offsets, weights, _ = _reduced_rows(data, segments, weights, indices, by, num_segments)
    return reduce_into(data, chosen, weights, None, offsets, reduce, pad_value, out, dtype)


def _scattered(data, segments, reduce, num_segments, pad_value, dtype, out):
    ids, num_segments = unsorted_ids(segments, num_segments)
    check_sizes("unsorted_ids", (len(ids),), len(data))
    dtype, _ = result_of(data.dtype, reduce, dtype, pad_value)
    out = arrays.output((num_segments,), dtype, out)
    numbers = out if out.dtype != np.float16 else np.empty(num_segments, np.float32)
    values = upcast(data).astype(native(upcast(data).dtype), copy=False)
    scatter(values, ids, num_segments, reduce, numbers.dtype.type(pad_of(pad_value, dtype)), numbers)
    if numbers is not out:
        out[:] = numbers
    return out


@segment_reduce_grad.kernel("cpu")
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
    chosen, offsets, weights, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    rows = values_grad(data, chosen, None, offsets, weights, out, grad, reduce)
    if indices is not None:
        return table_grad(data, np.array(chosen), rows, None, is_sparse)
    return _put_back(rows, order)


@segment_reduce_weights_grad.kernel("cpu")
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
    chosen, offsets, weights, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    return _put_back(weights_grad(data, chosen, None, offsets, weights, out, grad, reduce), order)


def _put_back(rows, order):
    """Rows in the order that they had before they were brought together."""
    if order is None:
        return rows
    result = np.empty_like(rows)
    result[order] = rows
    return result
