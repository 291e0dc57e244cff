"""Kernels of lodkit/ops/moment_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import moment_optimizers as ops
from ...registry import Dense
from .optimizer_steps import adadelta_rule, adam_rule, momentum_rule, rmsprop_rule
from .updates import update


@ops.momentum.kernel("cpu", "cuda")
def momentum(
    on,
    param: Dense,
    grad: Dense | SelectedRows,
    velocity: Dense,
    /,
    *,
    lr,
    momentum,
    nesterov,
    duplicates,
    lazy,
    rate_in_velocity,
    return_step,
):
    if return_step:
        ops.check_record(grad, duplicates)
    rule, states = momentum_rule(lr, momentum, nesterov, rate_in_velocity), (("velocity", velocity),)
    options = {"duplicates": duplicates, "touches_all": not lazy, "records": return_step}
    step = update(on, "momentum", rule, param, grad, states, **options)
    return (param, velocity, step) if return_step else (param, velocity)


def _adam(op):
    @op.kernel("cpu", "cuda")
    def adam(
        on,
        param: Dense,
        grad: Dense | SelectedRows,
        moment1: Dense,
        moment2: Dense,
        /,
        *,
        lr,
        iteration,
        beta1,
        beta2,
        epsilon,
        duplicates,
        lazy,
        rectified,
    ):
        rule = adam_rule(lr, beta1, beta2, epsilon, iteration, rectified, rowwise=op is ops.rowwise_adam)
        states = ("moment1", moment1), ("moment2", moment2)
        update(on, op.name, rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
        return param, moment1, moment2


_adam(ops.adam)
_adam(ops.rowwise_adam)


@ops.adadelta.kernel("cpu", "cuda")
def adadelta(
    on,
    param: Dense,
    grad: Dense | SelectedRows,
    square: Dense,
    change: Dense,
    /,
    *,
    lr,
    decay,
    epsilon,
    duplicates,
    lazy,
):
    rule, states = adadelta_rule(lr, decay, epsilon), (("square", square), ("change", change))
    update(on, "adadelta", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    return param, square, change


@ops.rmsprop.kernel("cpu", "cuda")
def rmsprop(
    on,
    param: Dense,
    grad: Dense | SelectedRows,
    square: Dense,
    velocity: Dense,
    /,
    *,
    lr,
    decay,
    momentum,
    epsilon,
    duplicates,
    lazy,
):
    rule, states = rmsprop_rule(lr, decay, momentum, epsilon), (("square", square), ("velocity", velocity))
    update(on, "rmsprop", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    return param, square, velocity
