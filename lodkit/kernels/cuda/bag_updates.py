"""CUDA kernels of lodkit/ops/bag_updates.py: the row of an id's bag, and a factor, in front of the updates by runs."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda.elementwise import convert, fill
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.memory import refuse_overlap, view
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from ...ops.bag_updates import check_bag_update, embedding_bag_adagrad, embedding_bag_rowwise_adagrad
from ...registry import Dense
from ..common.optimizer_steps import adagrad_rule
from .conversions import offsets_to_segment_ids
from .primitives.gather import gather
from .primitives.gradients import values_grad
from .primitives.merge import runs_of
from .primitives.offsets import offsets_like
from .primitives.update import update_runs


def _update(name, rule, param, ids, grad, states, weights, pool, duplicates):
    """Step the rows that ids name, each by what flows into its bags."""
    param, grad, weights = view(param), view(grad), None if weights is None else view(weights)
    bags = check_bag_update(name, param, ids, grad, states, weights, pool, rule.rowwise)
    flat = checked_ids(bags.values, len(param))
    written, read = [("param", param), *states], [x for x in (grad, flat, weights) if x is not None]
    for i, (what, array) in enumerate(written):
        refuse_overlap(what, array, (*read, *(other for _, other in written[i + 1 :])))
    if not flat.size:
        return
    rows, runs, order = runs_of(SelectedRows._wrap(flat, grad, len(param)))
    offsets = offsets_like(param, bags.row_offsets())
    scale = _factors(offsets, weights, pool, grad)
    scale = None if scale is None else _ordered(scale, order)
    bag = _ordered(view(offsets_to_segment_ids(offsets.offsets)), order)
    update_runs(rule, param, [array for _, array in states], rows, runs, bag, grad, duplicates, scale)


def _ordered(vector, order):
    """``vector[order]``"""
    out = vector.like((order.size,))
    gather(vector, order, None, out)
    return out


def _factors(offsets, weights, pool, grad):
    """By what the gradient of its bag is multiplied for each id; None where it is not."""
    if weights is None and pool == "sum":
        return None
    dtype = np.promote_types(grad.dtype, np.float32)
    ones, values = fill(grad.like((len(offsets),), dtype), 1), grad.like((offsets.rows,), dtype)
    weights = None if weights is None else convert(weights, dtype)
    return values_grad(values, None, None, offsets, weights, None, ones, pool)


@embedding_bag_adagrad.kernel("cuda")
def bag_adagrad(
    param: Dense,
    ids: LoDTensor,
    grad: Dense,
    moment: Dense,
    weights: Dense | None = None,
    /,
    *,
    lr,
    pool,
    epsilon,
    duplicates,
    weight_decay,
):
    rule, states = adagrad_rule(lr, epsilon, weight_decay), [("moment", view(moment))]
    _update("embedding_bag_adagrad", rule, param, ids, grad, states, weights, pool, duplicates)
    return param, moment


@embedding_bag_rowwise_adagrad.kernel("cuda")
def bag_rowwise_adagrad(
    param: Dense,
    ids: LoDTensor,
    grad: Dense,
    moment: Dense,
    weights: Dense | None = None,
    /,
    *,
    lr,
    pool,
    epsilon,
    duplicates,
    weight_decay,
):
    rule, states = adagrad_rule(lr, epsilon, weight_decay, rowwise=True), [("moment", view(moment))]
    _update("embedding_bag_rowwise_adagrad", rule, param, ids, grad, states, weights, pool, duplicates)
    return param, moment
