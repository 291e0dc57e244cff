"""Kernels of lodkit/ops/optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod.selected_rows import SelectedRows
from ...ops import optimizers as ops
from ...registry import Dense
from .optimizer_steps import adagrad_rule, ftrl_rule, sgd_rule


@ops.sgd.kernel("cpu", "cuda")
def sgd(on, param: Dense, grad: Dense | SelectedRows, /, *, lr, duplicates):
    on.update("sgd", sgd_rule(lr), param, grad, duplicates=duplicates)
    return param


@ops.adagrad.kernel("cpu", "cuda")
def adagrad(
    on,
    param: Dense,
    grad: Dense | SelectedRows,
    moment: Dense,
    /,
    *,
    lr,
    epsilon,
    duplicates,
    weight_decay,
    decay,
    lazy,
):
    rule, touches_all = (
        adagrad_rule(lr, epsilon, weight_decay, decay),
        not lazy and (weight_decay != 0 or decay != 1),
    )
    on.update("adagrad", rule, param, grad, (("moment", moment),), duplicates=duplicates, touches_all=touches_all)
    return param, moment


@ops.rowwise_adagrad.kernel("cpu", "cuda")
def rowwise_adagrad(
    on, param: Dense, grad: Dense | SelectedRows, moment: Dense, /, *, lr, epsilon, duplicates, weight_decay, lazy
):
    rule, touches_all = adagrad_rule(lr, epsilon, weight_decay, rowwise=True), not lazy and weight_decay != 0
    states = (("moment", moment),)
    on.update("rowwise_adagrad", rule, param, grad, states, duplicates=duplicates, touches_all=touches_all)
    return param, moment


@ops.ftrl.kernel("cpu", "cuda")
def ftrl(
    on,
    param: Dense,
    grad: Dense | SelectedRows,
    squared: Dense,
    linear: Dense | None = None,
    /,
    *,
    lr,
    beta,
    l1,
    l2,
    duplicates,
):
    rule, states = ftrl_rule(lr, beta, l1, l2, pairs=linear is None), ops.accumulators(squared, linear)
    on.update("ftrl", rule, param, grad, states, duplicates=duplicates)
    return (param, *(array for _, array in states))
