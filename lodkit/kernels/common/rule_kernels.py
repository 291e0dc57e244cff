"""Kernels that are a rule for a device's template of updates: the same on every device, so they are written once.

``update`` is the template, ``lodkit.kernels.cpu.primitives.update`` or ``lodkit.kernels.cuda.primitives.update``.
"""

from __future__ import annotations

from ...lod.selected_rows import SelectedRows
from ...ops.moment_optimizers import adadelta, adam, check_record, momentum, rmsprop, rowwise_adam
from ...ops.optimizers import accumulators, adagrad, ftrl, rowwise_adagrad
from ...registry import Dense
from .optimizer_steps import adadelta_rule, adagrad_rule, adam_rule, ftrl_rule, momentum_rule, rmsprop_rule


def adagrad_kernels(device, update):
    """Register adagrad, rowwise_adagrad and ftrl."""

    @adagrad.kernel(device)
    def adagrad_update(
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
        update("adagrad", rule, param, grad, (("moment", moment),), duplicates=duplicates, touches_all=touches_all)
        return param, moment

    @rowwise_adagrad.kernel(device)
    def rowwise_adagrad_update(
        param: Dense, grad: Dense | SelectedRows, moment: Dense, /, *, lr, epsilon, duplicates, weight_decay, lazy
    ):
        rule, touches_all = adagrad_rule(lr, epsilon, weight_decay, rowwise=True), not lazy and weight_decay != 0
        states = (("moment", moment),)
        update("rowwise_adagrad", rule, param, grad, states, duplicates=duplicates, touches_all=touches_all)
        return param, moment

    @ftrl.kernel(device)
    def ftrl_update(
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
        rule, states = ftrl_rule(lr, beta, l1, l2, pairs=linear is None), accumulators(squared, linear)
        update("ftrl", rule, param, grad, states, duplicates=duplicates)
        return (param, *(array for _, array in states))


def _adam_kernel(op, update):
    def adam_update(
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
        rule = adam_rule(lr, beta1, beta2, epsilon, iteration, rectified, rowwise=op is rowwise_adam)
        states = ("moment1", moment1), ("moment2", moment2)
        update(op.name, rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
        return param, moment1, moment2

    return adam_update


def moment_kernels(device, update):
    """Register the updates with moving averages."""

    @momentum.kernel(device)
    def momentum_update(
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
            check_record(grad, duplicates)
        rule, states = momentum_rule(lr, momentum, nesterov, rate_in_velocity), (("velocity", velocity),)
        options = {"duplicates": duplicates, "touches_all": not lazy, "records": return_step}
        step = update("momentum", rule, param, grad, states, **options)
        return (param, velocity, step) if return_step else (param, velocity)

    for op in (adam, rowwise_adam):
        op.kernel(device)(_adam_kernel(op, update))

    @adadelta.kernel(device)
    def adadelta_update(
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
        update("adadelta", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
        return param, square, change

    @rmsprop.kernel(device)
    def rmsprop_update(
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
        update("rmsprop", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
        return param, square, velocity
