"""Gather and scatter of rows, ranges, segments and elements; weighted sums."""

from __future__ import annotations

from .. import ops
from ..arrays import to_tuple
from ._common import int32


def gather(data, indices, *, axis=0, match_outer=0, wrap_indices=None, dense_gradient=0):
    wrap = axis == 0 if wrap_indices is None else bool(wrap_indices)
    return ops.gather(data, indices, axis=axis, wrap=wrap, match_outer=bool(match_outer), is_sparse=not dense_gradient)


def batch_gather(data, indices, *, match_outer=0):
    return ops.batch_gather(data, indices, match_outer=bool(match_outer))


def gather_ranges(data, ranges):
    values, lengths = ops.gather_ranges(data, ranges)
    return values, int32(lengths, below=len(values) + 1)


def gather_ranges_to_dense(
    data, ranges, key=None, lengths=(), *, max_mismatched_ratio=0.01, max_empty_ratio=1.0, min_observation=10000
):
    ratios = {"max_mismatched_ratio": max_mismatched_ratio, "max_empty_ratio": max_empty_ratio}
    options = {
        "lengths": to_tuple(lengths, "GatherRangesToDense: lengths"),
        "min_observation": min_observation,
        **ratios,
    }
    return ops.gather_ranges_to_dense(data, ranges, key, **options)


OPERATORS = {
    "Gather": gather,
    "BatchGather": batch_gather,
    "GatherRanges": gather_ranges,
    "GatherRangesToDense": gather_ranges_to_dense,
    "LengthsGather": lambda items, lengths, indices: ops.lengths_gather(items, lengths, indices),
    "LengthsTile": lambda data, lengths: ops.lengths_tile(data, lengths),
    "ScatterAssign": lambda data, indices, slices: ops.scatter_assign(data, indices, slices),
    "ScatterUpdate": lambda data, indices, slices: ops.scatter_assign(data, indices, slices),
    "ScatterWeightedSum": lambda x0, weight0, indices, *pairs: ops.scatter_weighted_sum(x0, weight0, indices, *pairs),
    "Scatter": lambda data, indices, updates, *, axis=1: ops.scatter(data, indices, updates, axis=axis),
    "WeightedSum": lambda *pairs, grad_on_w=0: ops.weighted_sum(*pairs),
}
