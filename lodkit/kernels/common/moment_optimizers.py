"""Kernels of lodkit/ops/moment_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import moment_optimizers as ops
from ...registry import Dense
from .optimizer_steps import adadelta_rule, adam_rule, momentum_rule, rmsprop_rule
from .updates import update, update_kernel


@ops.momentum.kernel("cpu", "cuda")
def momentum(
    on,
    param,
    grad: Dense | SelectedRows,
    velocity,
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
    rule, states = momentum_rule(lr, momentum, nesterov, rate_in_velocity), (("velocity",), (velocity,))
    step = update(on, "momentum", rule, param, grad, *states, duplicates=duplicates, lazy=lazy, records=return_step)
    return (param, velocity, step) if return_step else (param, velocity)


update_kernel(ops.adam, adam_rule)
update_kernel(ops.rowwise_adam, adam_rule, rowwise=True)
update_kernel(ops.adadelta, adadelta_rule)
update_kernel(ops.rmsprop, rmsprop_rule)
