"""Kernels of lodkit/ops/optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import optimizers as ops
from ...registry import Dense
from .optimizer_steps import adagrad_rule, ftrl_rule, sgd_rule
from .updates import update, update_kernel


@ops.sgd.kernel("cpu", "cuda")
def sgd(on, param: Dense, grad: Dense | SelectedRows, /, *, lr, duplicates):
    update(on, "sgd", sgd_rule(lr), param, grad, duplicates=duplicates)
    return param


@ops.sgd.kernel("cpu", "cuda")
def sgd_selected(on, param: SelectedRows, grad: SelectedRows, /, *, lr, duplicates):
    keys, key_order = ops.sort_keys(on, param)
    ops.prepare_selected(on, param, grad)
    if len(grad.rows):
        at, starts, order = on.optimizers.positions(keys, key_order, grad)
        on.update_runs(sgd_rule(lr), param.value, (), at, starts, order, grad.value, duplicates)
    return param


@ops.sgd.kernel("cpu", "cuda")
def sgd_selected_dense(on, param: SelectedRows, grad: Dense, /, *, lr, duplicates):
    if not param.is_merged:
        ops.sort_keys(on, param)
    ops.prepare_selected(on, param, grad)
    on.update_all(sgd_rule(lr), param.value, (), on.take(grad, param.rows))
    return param


update_kernel(ops.adagrad, adagrad_rule)
update_kernel(ops.rowwise_adagrad, adagrad_rule, rowwise=True)


@ops.ftrl.kernel("cpu", "cuda")
def ftrl(on, param, grad: Dense | SelectedRows, squared, linear, /, *, lr, beta, l1, l2, duplicates):
    rule, states = ftrl_rule(lr, beta, l1, l2, pairs=linear is None), ops.accumulators(squared, linear)
    update(on, "ftrl", rule, param, grad, *states, duplicates=duplicates)
    return (param, *states[1])
