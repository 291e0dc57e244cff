"""CPU kernels of lodkit/ops/bag_updates.py: the row of an id's bag, and a factor, in front of the updates by runs."""

from __future__ import annotations

import numpy as np

from ...arrays import upcast
from ...arrays.generic import refuse_overlap
from ...arrays.ids import checked_ids
from ...lod.lod_tensor import LoDTensor
from ...ops.bag_updates import check_bag_update, embedding_bag_adagrad, embedding_bag_rowwise_adagrad
from ...registry import Dense
from ..common.optimizer_steps import adagrad_rule
from .conversions import offsets_to_segment_ids
from .primitives.gradients import values_grad
from .primitives.sort import sort_rows
from .primitives.update import update_runs


def _update(name, rule, param, ids, grad, states, weights, pool, duplicates):
    """Step the rows that ids name, each by what flows into its bags."""
    bags = check_bag_update(name, param, ids, grad, states, weights, pool, rule.rowwise)
    flat = checked_ids(bags.values, len(param))
    written, read = (("param", param), *states), [x for x in (grad, flat, weights) if x is not None]
    for i, (what, array) in enumerate(written):
        refuse_overlap(what, array, (*read, *(other for _, other in written[i + 1 :])))
    order, starts, unique = sort_rows(flat, len(param))
    scale = _factors(bags.row_offsets(), weights, pool, param.dtype)
    scale = None if scale is None else scale[order]
    bag = offsets_to_segment_ids(bags.row_offsets())[order]
    update_runs(rule, param, [array for _, array in states], unique, (bag, starts), grad, duplicates, scale)


def _factors(offsets, weights, pool, dtype):
    """By what the gradient of its bag is multiplied for each id; None where it is not."""
    if weights is None and pool == "sum":
        return None
    ones = np.ones(len(offsets) - 1, np.promote_types(dtype, np.float32))
    weights = None if weights is None else upcast(weights)
    return values_grad(np.empty(offsets[-1], ones.dtype), None, None, offsets, weights, None, ones, pool)


@embedding_bag_adagrad.kernel("cpu")
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
    rule, states = adagrad_rule(lr, epsilon, weight_decay), (("moment", moment),)
    _update("embedding_bag_adagrad", rule, param, ids, grad, states, weights, pool, duplicates)
    return param, moment


@embedding_bag_rowwise_adagrad.kernel("cpu")
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
    rule, states = adagrad_rule(lr, epsilon, weight_decay, rowwise=True), (("moment", moment),)
    _update("embedding_bag_rowwise_adagrad", rule, param, ids, grad, states, weights, pool, duplicates)
    return param, moment
