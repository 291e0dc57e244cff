"""CPU kernels of lodkit/ops/segments.py."""

from __future__ import annotations

import functools

import numpy as np

from .. import arrays
from ..arrays import check_rows, matrix
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
from ._rows import plain
from .conversions import to_offsets


@functools.lru_cache(1024)
def _result(dtype, reduce, asked, pad_value):
    """The type of the result, and the pad value in it (as bits where it is float16)."""
    dtype = result_dtype(dtype, reduce, asked)
    pad = pad_of(pad_value, dtype)
    return dtype, pad.view(np.uint16) if dtype == np.float16 else pad


def reduce_into(values, ids, weights, padding_idx, offsets, reduce, pad_value, out=None, dtype=None):
    """Reduce rows of ``values`` (those at ``ids``, all where it is None) by offsets that were checked."""
    dtype, pad = _result(values.dtype, reduce, dtype, pad_value)
    weights = None if weights is None else plain(weights)
    out = arrays.output((len(offsets) - 1, *values.shape[1:]), dtype, out)
    reduce_rows(reduce, matrix(values), ids, weights, padding_idx, offsets, pad, matrix(out))
    return out


@segment_reduce.kernel("cpu")
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
    offsets = to_offsets(segments, by, len(check_rows(data, "data")), num_segments)
    if weights is not None:
        check_weighted(reduce, weights)
        check_weights(weights, len(data), data.dtype)
    return reduce_into(data, None, weights, None, offsets, reduce, pad_value, out, dtype)


@segment_reduce_grad.kernel("cpu")
def run_grad(
    data: Dense, segments: Dense, out: Dense, grad: Dense, weights: Dense | None = None, /, *, by, reduce, num_segments
):
    offsets = to_offsets(segments, by, len(data), num_segments)
    return values_grad(data, None, None, offsets, weights, out, grad, reduce)


@segment_reduce_weights_grad.kernel("cpu")
def run_weights_grad(
    data: Dense, segments: Dense, out: Dense, grad: Dense, weights: Dense, /, *, by, reduce, num_segments
):
    check_weighted(reduce, weights)
    offsets = to_offsets(segments, by, len(data), num_segments)
    check_weights(weights, len(data), data.dtype)
    return weights_grad(data, None, None, offsets, weights, out, grad, reduce)
