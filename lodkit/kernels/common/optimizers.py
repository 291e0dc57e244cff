"""Kernels of lodkit/ops/optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import optimizers as ops
from ...ops.shared.selected_parameters import prepare_selected, refuse_rest, sort_keys
from ...ops.shared.updates import learning_rate
from ...registry import Dense
from .optimizer_rules import (
    adagrad_rule,
    decayed_adagrad_rule,
    ftrl_rule,
    proximal_adagrad_rule,
    proximal_gd_rule,
    rowwise_adagrad_rule,
    sgd_rule,
)
from .updates import adjusted, update_kernel

update_kernel(ops.sgd, sgd_rule)
update_kernel(ops.proximal_gd, proximal_gd_rule)
update_kernel(ops.adagrad, adagrad_rule)
update_kernel(ops.rowwise_adagrad, rowwise_adagrad_rule)
update_kernel(ops.decayed_adagrad, decayed_adagrad_rule)
update_kernel(ops.proximal_adagrad, proximal_adagrad_rule)
update_kernel(ops.ftrl, ftrl_rule)


def _prepare(on, param, grad, lr, duplicates, weight_decay=0.0, mask=None, rounding_seed=None, **options):
    """Check the update of a SelectedRows parameter, and make its rule. Returns the gradient and that."""
    refuse_rest(weight_decay, mask, rounding_seed)
    prepare_selected(on, param, grad)
    lr = learning_rate(lr)
    return adjusted(on, sgd_rule(lr=lr), grad, duplicates, lr, **options)


@ops.sgd.kernel("cpu", "cuda")
def sgd_selected(on, param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates, lazy, **options):
    keys, key_order = sort_keys(on, param)
    grad, rule = _prepare(on, param, grad, lr, duplicates, **options)
    if len(grad._rows):
        at, starts, order = on.optimizers.positions(keys, key_order, grad)
        on.update_runs(rule, param.value, (), at, starts, order, grad.value, duplicates)
    return param


@ops.sgd.kernel("cpu", "cuda")
def sgd_selected_dense(on, param: SelectedRows, grad: Dense, /, *, lr, duplicates, lazy, **options):
    if not param.is_merged:
        sort_keys(on, param)
    grad, rule = _prepare(on, param, grad, lr, duplicates, **options)
    on.update_all(rule, param.value, (), on.take(grad, param._rows))
    return param
