"""Kernels of lodkit/ops/segments.py."""

from __future__ import annotations

from ...ops import segments as ops
from .integers import needs_integers


def _loops(on, data, segments, weights, indices, /, *, by, reduce, num_segments, pad_value, is_sparse, dtype):
    if _scatters(on, data, weights, indices, by, reduce, dtype):
        return [on.segments.scatter_loop(data, reduce, pad_value, dtype)]
    ids, offsets, weights, _ = ops.prepare_segments(on, data, segments, weights, indices, by, num_segments, reduce)
    return [on.reduce_loop(reduce, data, ids, weights, None, offsets, dtype)]


def _scatters(on, data, weights, indices, by, reduce, dtype):
    """Whether numbers are reduced by unsorted ids without a sort."""
    plain = data.ndim == 1 and weights is None and indices is None
    return by == "unsorted_ids" and plain and reduce in on.SCATTERED and not needs_integers(data.dtype, dtype)


@ops.segment_reduce.kernel("cpu", "cuda", choose_loops=_loops)
def segment_reduce(
    on, data, segments, weights, indices, /, *, by, reduce, num_segments, pad_value, is_sparse, dtype, out=None
):
    if _scatters(on, data, weights, indices, by, reduce, dtype):
        return on.segments.scatter(data, segments, reduce, num_segments, pad_value, dtype, out)
    ids, offsets, weights, _ = ops.prepare_segments(on, data, segments, weights, indices, by, num_segments, reduce)
    return on.reduce_into(data, ids, weights, None, offsets, reduce, pad_value, out, dtype)


@ops.segment_reduce_grad.kernel("cpu", "cuda")
def segment_reduce_grad(on, data, segments, out, grad, weights, indices, /, *, by, reduce, num_segments, is_sparse):
    ids, offsets, weights, order = ops.prepare_segments(on, data, segments, weights, indices, by, num_segments, reduce)
    rows = ops.restore_order(on, on.values_grad(data, ids, None, offsets, weights, out, grad, reduce), order)
    if indices is None:
        return rows
    return on.table_grad(data, ops.restore_order(on, ids, order), rows, None, is_sparse)


@ops.segment_reduce_weights_grad.kernel("cpu", "cuda")
def segment_reduce_weights_grad(on, data, segments, out, grad, weights, indices, /, *, by, reduce, num_segments):
    ids, offsets, weights, order = ops.prepare_segments(on, data, segments, weights, indices, by, num_segments, reduce)
    return ops.restore_order(on, on.weights_grad(data, ids, None, offsets, weights, out, grad, reduce), order)
