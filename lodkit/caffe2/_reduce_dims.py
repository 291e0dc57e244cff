"""Reductions of the first or the last dimensions."""

from __future__ import annotations

from .. import ops

REDUCTIONS = {"Sum": "sum", "Mean": "mean", "Max": "max"}


def _reduction(where, reduce):
    # Caffe2 ignores num_reduce_dims (its argument has no s); its recorded runs pass it.
    def run(data, lengths=None, *, num_reduce_dim=1, num_reduce_dims=None):
        return ops.reduce_dims(data, None, lengths, reduce=reduce, where=where, num_dims=num_reduce_dim)

    return run


def reduce_front_weighted_sum(data, weights, *, grad_on_weights=0):
    return ops.reduce_dims(data, weights)


OPERATORS = {
    f"Reduce{where.title()}{name}": _reduction(where, reduce)
    for where in ("front", "back")
    for name, reduce in REDUCTIONS.items()
}
OPERATORS["ReduceFrontWeightedSum"] = reduce_front_weighted_sum
