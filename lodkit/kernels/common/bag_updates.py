"""Kernels of lodkit/ops/bag_updates.py: the row of each id's bag, and a factor, in front of the updates by runs."""

from __future__ import annotations

from ...lod import LoDTensor
from ...ops import bag_updates as ops
from ...registry import Dense
from .optimizer_steps import adagrad_rule


def _adagrad(op, rowwise):
    @op.kernel("cpu", "cuda")
    def bag_adagrad(
        on,
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
        rule = adagrad_rule(lr=lr, epsilon=epsilon, weight_decay=weight_decay, rowwise=rowwise)
        bags, flat = ops.prepare_bag_update(on, op.name, param, ids, grad, moment, weights, pool, rowwise)
        if flat.size:
            order, starts, rows = on.sort_rows(flat, len(param))
            bag, scale = on.bag_updates.bag_rows(bags.row_offsets(), weights, pool, order, grad)
            on.update_runs(rule, param, (moment,), rows, starts, bag, grad, duplicates, scale)
        return param, moment


_adagrad(ops.embedding_bag_adagrad, False)
_adagrad(ops.embedding_bag_rowwise_adagrad, True)
