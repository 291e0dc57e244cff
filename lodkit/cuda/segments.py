"""CUDA kernels of lodkit/ops/segments.py."""

from __future__ import annotations

from ..arrays import check_rows
from ..ops.segments import (
    check_weighted,
    check_weights,
    pad_of,
    result_dtype,
    segment_reduce,
    segment_reduce_grad,
    segment_reduce_weights_grad,
)
from ..registry import Dense
from ._gradients import values_grad, weights_grad
from ._reduce import reduce_rows
from .conversions import to_offsets
from .memory import output, view


def reduce_into(values, ids, weights, padding_idx, offsets, reduce, pad_value, out=None, dtype=None):
    """Reduce rows of ``values`` (those at ``ids``, all where it is None) by checked offsets; a View."""
    dtype = result_dtype(values.dtype, reduce, dtype)
    out = output(values, (len(offsets), *values.shape[1:]), dtype, out)
    reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad_of(pad_value, dtype), out)
    return out


@segment_reduce.kernel("cuda")
def run(
    data: Dense,
    segments: Dense,
    weights: Dense | None = None,
    /,
    *,
    by,
    reduce,
    num_segments,
    pad_value,
    dtype,
    out=None,
):
    data = check_rows(view(data), "data")
    offsets = to_offsets(segments, by, len(data), num_segments)
    if weights is not None:
        weights = view(weights)
        check_weighted(reduce, weights)
        check_weights(weights, len(data), data.dtype)
    return reduce_into(data, None, weights, None, offsets, reduce, pad_value, out, dtype).array


@segment_reduce_grad.kernel("cuda")
def run_grad(
    data: Dense, segments: Dense, out: Dense, grad: Dense, weights: Dense | None = None, /, *, by, reduce, num_segments
):
    data, weights = view(data), None if weights is None else view(weights)
    offsets = to_offsets(segments, by, len(data), num_segments)
    return values_grad(data, None, None, offsets, weights, view(out), grad, reduce).array


@segment_reduce_weights_grad.kernel("cuda")
def run_weights_grad(
    data: Dense, segments: Dense, out: Dense, grad: Dense, weights: Dense, /, *, by, reduce, num_segments
):
    data, weights = view(data), view(weights)
    check_weighted(reduce, weights)
    offsets = to_offsets(segments, by, len(data), num_segments)
    check_weights(weights, len(data), data.dtype)
    return weights_grad(data, None, None, offsets, weights, view(out), grad, reduce).array
