"""Segment reductions: the product of representation, reduction, and fused gather or not; reduced dimensions.

Inputs are ``data, [weights,] [indices,] segments``. Caffe2 has about a third of these names; its page promises all
("almost full cartesian product").
"""

from __future__ import annotations

import inspect

from .. import ops
from ..base.errors import RowIndexError
from ._common import float32, height

REDUCTIONS = {
    "Sum": "sum",
    "Mean": "mean",
    "SqrtMean": "sqrt",
    "Max": "max",
    "Min": "min",
    "Prod": "prod",
    "LogSumExp": "logsumexp",
    "LogMeanExp": "logmeanexp",
}
WEIGHTED = {"WeightedSum": "sum", "WeightedMean": "mean"}


def _read_lengths(lengths):
    return lengths, {"by": "lengths"}


def _read_sorted_ids(segment_ids):
    """Convert sorted ids, which in Caffe2 start at 0 without gaps."""
    return ops.segment_ids_to_offsets(segment_ids, allow_gaps=False), {"by": "offsets"}


def _read_unsorted_ids(segment_ids, *, num_segments=-1):
    return segment_ids, {"by": "unsorted_ids", "num_segments": None if num_segments == -1 else num_segments}


REPRESENTATIONS = {
    "SortedSegment": _read_sorted_ids,
    "SortedSegmentRange": _read_sorted_ids,
    "UnsortedSegment": _read_unsorted_ids,
    "Lengths": _read_lengths,
}


def _reduction(representation, reduce, weighted, fused):
    """Make the function of one name. ``grad_on_weights`` is ignored: weights always have a gradient."""

    def run(data, *others, grad_on_weights=0, **args):
        *between, segments = others
        weights = between.pop(0) if weighted else None
        indices = between.pop(0) if fused else None
        segments, attrs = representation(segments, **args)
        return ops.segment_reduce(data, segments, weights, indices, reduce=reduce, dtype=float32(data), **attrs)

    run.__signature__ = _signature(representation, weighted, fused)
    return run


def _signature(representation, weighted, fused):
    """Return the signature: data, [weights], [indices], and the representation's parameters."""
    names = ["data", *["weights"] * weighted, *["indices"] * fused]
    segments, *args = inspect.signature(representation).parameters.values()
    option = inspect.Parameter("grad_on_weights", inspect.Parameter.KEYWORD_ONLY, default=0)
    inputs = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    return inspect.Signature([*inputs, segments, *args, option])


def sparse_lengths_positional_weighted_sum(data, weights, indices, lengths):
    """Weight each row by ``weights[position in its segment]``."""
    try:
        weights = ops.gather(weights, ops.lengths_range_fill(lengths))
    except RowIndexError as error:
        count = height(weights, "weights")
        raise RowIndexError(f"weights has {count} positions, but a segment is longer; pass one per position") from error
    return ops.segment_reduce(data, lengths, weights, indices, dtype=float32(data))


def _reduce_dims(where, reduce):
    # Caffe2 ignores num_reduce_dims (its argument has no s); its recorded runs pass it.
    def run(data, lengths=None, *, num_reduce_dim=1, num_reduce_dims=None):
        return ops.reduce_dims(data, None, lengths, reduce=reduce, where=where, num_dims=num_reduce_dim)

    return run


SEGMENTS = {
    sparse + name + reduction: _reduction(representation, reduce, reduction in WEIGHTED, bool(sparse))
    for sparse in ("", "Sparse")
    for name, representation in REPRESENTATIONS.items()
    for reduction, reduce in (REDUCTIONS | WEIGHTED).items()
}
SEGMENTS["SparseLengthsPositionalWeightedSum"] = sparse_lengths_positional_weighted_sum
DIMENSIONS = {
    f"Reduce{where.title()}{name}": _reduce_dims(where, REDUCTIONS[name])
    for where in ("front", "back")
    for name in ("Sum", "Mean", "Max")
}
DIMENSIONS["ReduceFrontWeightedSum"] = lambda data, weights, *, grad_on_weights=0: ops.reduce_dims(data, weights)
OPERATORS = SEGMENTS | DIMENSIONS
