"""Kernels of lodkit/ops/adam_optimizers.py: each operator is a rule for the device's template of updates."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import adam_optimizers as ops
from ...ops.shared.updates import check_merged, learning_rate
from ...registry import Dense
from .optimizer_rules import adam_rule, adamax_rule, nadam_rule, smart_decay_rule
from .updates import adjusted, check_arrays, update_kernel

update_kernel(ops.adam, adam_rule)
update_kernel(ops.rowwise_adam, adam_rule, corrected_epsilon=False)
update_kernel(ops.adamw, adam_rule, rectified=False, corrected_epsilon=True)
update_kernel(ops.adamax, adamax_rule)
update_kernel(ops.nadam, nadam_rule)
update_kernel(ops.radam, adam_rule, rectified=True, corrected_epsilon=False)


@ops.smart_decay_adam.kernel("cpu", "cuda")
def smart_decay_adam(
    on,
    param,
    grad: Dense | SelectedRows,
    moment1,
    moment2,
    last_seen,
    /,
    *,
    lr,
    iteration,
    beta1,
    beta2,
    epsilon,
    duplicates,
    lazy,
    weight_decay,
    **adjusting,
):
    """Rows are copied, with the number of steps that passed in place of the counter, stepped, and put back."""
    attrs, lr = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}, learning_rate(lr)
    ops.smart_decay_adam.definition.traits.check({**attrs, "iteration": learning_rate(iteration)})
    now, states = int(learning_rate(iteration)) + 1, (moment1, moment2, last_seen)
    kinds = ops.smart_decay_adam.definition.traits.kinds(states)
    check_arrays(on, "smart_decay_adam", param, grad, [*ops.smart_decay_adam.inputs][2:], states, **kinds)
    grad, rule = adjusted(
        on, smart_decay_rule(lr=lr, **attrs), grad, duplicates, lr, weight_decay=weight_decay, **adjusting
    )
    if isinstance(grad, SelectedRows) and weight_decay and not lazy:
        check_merged(duplicates)
        grad = on.dense_rows(grad)
    if not isinstance(grad, SelectedRows):
        passed = on.adam_optimizers.elapse(last_seen, None, now, param)[1]
        on.update_all(rule, param, (moment1, moment2, passed), grad)
    elif grad.value.size:
        order, starts, rows = on.sort_rows(grad.rows, grad.height)
        at, passed = on.adam_optimizers.elapse(last_seen, rows, now, param)
        copies = [on.take(array, rows) for array in (param, moment1, moment2)]
        on.update_runs(rule, copies[0], (*copies[1:], passed), at, starts, order, grad.value, duplicates)
        for array, copy in zip((param, moment1, moment2), copies, strict=True):
            on.put_rows(rows, copy, array)
    return param, *states


@ops.advance_power.kernel("cpu", "cuda")
def advance_power(on, power, /, *, beta):
    ops.check_power(power)
    return on.fill(power, on.read(power).reshape(-1)[0].item() * beta)
