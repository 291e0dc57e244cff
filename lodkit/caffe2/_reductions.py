"""Reductions of segments: representation x reduction x fused gather."""

from __future__ import annotations

from .. import ops
from ..lod_tensor import LoDTensor
from ._common import float32

REDUCTIONS = {"Sum": ("sum", False), "Mean": ("mean", False), "Max": ("max", False), "WeightedSum": ("sum", True)}
FUSED = ("Sum", "Mean", "WeightedSum")


def _lengths(reduce, weighted):
    def run_weighted(data, weights, lengths, *, grad_on_weights=0):
        return ops.segment_reduce(data, lengths, weights, reduce=reduce, dtype=float32(data))

    def run(data, lengths):
        return ops.segment_reduce(data, lengths, reduce=reduce, dtype=float32(data))

    return run_weighted if weighted else run


def _sparse_lengths(reduce, weighted):
    def run_weighted(data, weights, indices, lengths, *, grad_on_weights=0):
        return ops.embedding_bag(data, LoDTensor(indices, [lengths]), weights, pool=reduce, dtype=float32(data))

    def run(data, indices, lengths):
        return ops.embedding_bag(data, LoDTensor(indices, [lengths]), pool=reduce, dtype=float32(data))

    return run_weighted if weighted else run


OPERATORS = {
    **{f"Lengths{name}": _lengths(*reduction) for name, reduction in REDUCTIONS.items()},
    **{f"SparseLengths{name}": _sparse_lengths(*REDUCTIONS[name]) for name in FUSED},
}
