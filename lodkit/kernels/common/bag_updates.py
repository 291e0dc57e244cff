"""Kernels of lodkit/ops/bag_updates.py: the row of each id's bag, and a factor, in front of the updates by runs."""

from __future__ import annotations

import functools

from ...lod import LoDTensor
from ...ops import bag_updates as ops
from ...ops.shared.updates import learning_rate
from ...registry import Dense
from . import adam_optimizers, moment_optimizers, optimizers  # noqa: F401  they fill RULES
from .updates import RULES, adjust_of, adjusted, with_lanes


def make_step(on, rule, param, states, bags, flat, weights, pool, grad, duplicates):
    """Update the rows of all ids, which were checked."""
    if flat.size:
        order, starts, rows = on.group_rows(flat, len(param))
        bag, scale = on.bag_updates.bag_rows(bags._row_offsets(), weights, pool, order, grad)
        on.update_runs(rule, param, states, rows, starts, bag, grad, duplicates, scale)


def _fused(op):
    update = op.definition.update
    optimizer, rule_at = update.definition.optimizer, RULES[update.name]
    names = optimizer.states

    def launch(
        on,
        param: Dense,
        ids: LoDTensor,
        grad: Dense,
        /,
        *given,
        lr,
        pool,
        duplicates,
        weight_decay,
        decoupled,
        maximize,
        clip_value,
        iteration=None,
        later=None,
        **attrs,
    ):
        """Check a step, and make it; or put the function that makes it into the list ``later``."""
        lr, (states, weights) = learning_rate(lr), ops.states_of(names, given)
        rule = rule_at(len(states), lr, iteration, attrs)
        _, rule = adjusted(on, rule, grad, duplicates, lr, weight_decay, decoupled, maximize, clip_value)
        bags, flat = ops.prepare_bag_update(on, op.name, param, ids, grad, names, states, weights, pool, optimizer)
        step = functools.partial(make_step, on, rule, param, states, bags, flat, weights, pool, grad, duplicates)
        if later is None:
            step()
        else:
            later.append(step)
        return (param, *states) if states else param

    def loops(on, param, ids, grad, /, *given, lr, pool, duplicates, iteration=None, **attrs):
        states, weights = ops.states_of(names, given)
        rule = rule_at(len(states), lr, iteration, attrs)._replace(adjust=adjust_of(**attrs))
        weighted = weights is not None or pool != "sum"
        return with_lanes(on.rows_loops(rule, param, states, grad, duplicates, weighted=weighted))

    launch.__name__ = launch.__qualname__ = op.name
    op.kernel("cpu", "cuda", choose_loops=loops)(launch)


for _op in ops.FUSED:
    _fused(_op)
