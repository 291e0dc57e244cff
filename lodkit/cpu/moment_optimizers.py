"""CPU kernels of lodkit/ops/moment_optimizers.py: each is a rule for the template of updates."""

from __future__ import annotations

from ..ops.moment_optimizers import adadelta, adam, check_record, momentum, rmsprop, rowwise_adam
from ..registry import Dense
from ..selected_rows import SelectedRows
from ..steps import adadelta_rule, adam_rule, momentum_rule, rmsprop_rule
from ._updates import update


@momentum.kernel("cpu")
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


@adam.kernel("cpu")
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
):
    rule, states = adam_rule(lr, beta1, beta2, epsilon, iteration), (("moment1", moment1), ("moment2", moment2))
    update("adam", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    return param, moment1, moment2


@rowwise_adam.kernel("cpu")
def rowwise_adam_update(
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
):
    rule, states = (
        adam_rule(lr, beta1, beta2, epsilon, iteration, rowwise=True),
        (("moment1", moment1), ("moment2", moment2)),
    )
    update("rowwise_adam", rule, param, grad, states, duplicates=duplicates, touches_all=not lazy)
    return param, moment1, moment2


@adadelta.kernel("cpu")
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


@rmsprop.kernel("cpu")
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
