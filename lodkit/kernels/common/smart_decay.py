"""The kernel of lodkit/ops/smart_decay.py: rows are copied, stepped by the template, and put back."""

from __future__ import annotations

from ...lod import SelectedRows
from ...ops import smart_decay as ops
from ...ops.shared.updates import check_merged, learning_rate, masked, one_number
from ...registry import Dense
from .optimizer_rules import smart_decay_rule
from .updates import adjust_of, adjusted, check_arrays, dense_gradient, loops_of


def _loops(on, param, grad, /, *states, duplicates, lazy, mask, weight_decay, beta1, beta2, epsilon, **attrs):
    rule = smart_decay_rule(lr=0.0, beta1=beta1, beta2=beta2, epsilon=epsilon)
    rule = rule._replace(adjust=adjust_of(weight_decay=weight_decay, **attrs))
    sparse = mask is not None or (isinstance(grad, SelectedRows) and (lazy or not weight_decay))
    return loops_of(on, rule, param, states, grad, sparse, duplicates)


@ops.smart_decay_adam.kernel("cpu", "cuda", choose_loops=_loops)
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
    mask,
    **adjusting,
):
    """The copies have the number of steps that passed in place of the counter."""
    attrs, lr = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}, learning_rate(lr)
    ops.smart_decay_adam.definition.optimizer.check({**attrs, "iteration": one_number(iteration)})
    now, states = int(one_number(iteration)) + 1, (moment1, moment2, last_seen)
    kinds = ops.smart_decay_adam.definition.optimizer.kinds(states)
    check_arrays(on, "smart_decay_adam", param, grad, [*ops.smart_decay_adam.inputs][2:], states, **kinds)
    if mask is not None:
        grad, lazy = masked(on, grad, mask, duplicates, bool(weight_decay) and not lazy), True
    grad, rule = adjusted(
        on, smart_decay_rule(lr=lr, **attrs), grad, duplicates, lr, weight_decay=weight_decay, **adjusting
    )
    if isinstance(grad, SelectedRows) and weight_decay and not lazy:
        check_merged(duplicates)
        grad = dense_gradient(on, grad)
    if not isinstance(grad, SelectedRows):
        _, passed, seen = on.smart_decay.elapse(last_seen, None, now, param)
        rule = rule._replace(extra_writes=((last_seen, seen),))
        on.update_all(rule, param, (moment1, moment2, passed), grad)
    elif grad.value.size:
        order, starts, rows = on.sort_rows(grad._rows, grad.height)
        at, passed, seen = on.smart_decay.elapse(last_seen, rows, now, param)
        copies = [on.take(array, rows) for array in (param, moment1, moment2)]
        on.update_runs(rule, copies[0], (*copies[1:], passed), at, starts, order, grad.value, duplicates)
        on.put_together(rows, (*copies, seen), (param, *states))
    return param, *states
