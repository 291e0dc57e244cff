"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ...arrays import FLOATS, OWN, are_apart, native
from ...lod import SelectedRows
from ...ops.shared.updates import (
    adjustment,
    check_merged,
    check_record,
    check_rounding,
    check_update,
    learning_rate,
    masked,
    one_number,
)
from ...registry import Dense
from .random_rounding import SINGLE, update_rounded


def _is_in_order(param, grad, states):
    """True if an update of NumPy's arrays has nothing to refuse: they are of one floating type, the states are like the
    parameter, which can be written, and all have memory of their own.
    """
    value = grad.value
    if type(param) is not np.ndarray or type(value) is not np.ndarray:
        return False
    dtype, shape = value.dtype, param.shape
    if dtype not in FLOATS or (grad.height, *value.shape[1:]) != shape or not value.flags.owndata:
        return False
    written = (param, *states)
    for x in written:
        if type(x) is not np.ndarray or x.dtype is not dtype or x.shape != shape or x.flags.num & OWN != OWN:
            return False
    return len({id(value), *map(id, written)}) > len(written)


def check_arrays(on, name, param, grad, names, states, rowwise=False, pairs=False, counter=False):
    """Check all arrays of an update before anything is written. Returns the values of the gradient."""
    if type(grad) is SelectedRows and not (rowwise or pairs or counter) and _is_in_order(param, grad, states):
        return grad.value  # 0.7 us less with one state
    check_update(name, param, grad, names, states, rowwise, pairs, counter)
    value = grad.value if isinstance(grad, SelectedRows) else grad
    if are_apart((param, value, *states)):  # 0.3 us less with one state
        return value
    on.refuse_overlap("param", param, [value, *states], ["grad", *names])
    for i, array in enumerate(states):
        on.refuse_overlap(names[i], array, [value, *states[i + 1 :]], ["grad", *names[i + 1 :]])
    return value


def dense_gradient(on, grad):
    """SelectedRows as the dense gradient; halves as float32, since their sums are not to be rounded before the step."""
    if native(grad.dtype) == np.float16:
        grad = SelectedRows._wrap(grad._rows, on.convert(grad.value, SINGLE), grad.height, grad.is_merged)
    return on.dense_rows(grad)


def update(
    on, name, rule, param, grad, names=(), states=(), duplicates="merge", touches_all=False, records=False, seed=None
):
    """Check everything, then step a parameter and its states.

    Parameters
    ----------
    on : module
        The device.
    name : str
        The operator's.
    rule : optimizer_rules.Rule
    param, grad : array, and array or SelectedRows
    names, states : tuple of str, tuple of arrays
    duplicates : {"merge", "sequential"}
    touches_all : bool
        Rows that SelectedRows do not list change too.
    seed : int, optional
        Round a float16 parameter at random.
    records : bool
        Return the steps that were subtracted, in the shape of the gradient or of its listed rows.
    """
    value = check_arrays(on, name, param, grad, names, states, rule.rowwise, rule.pairs)
    sparse = value is not grad
    if sparse and touches_all:
        check_merged(duplicates)
        if seed is None and not records and on.update_spread(rule, param, states, grad):
            return None
        grad, sparse = dense_gradient(on, grad), False
    if seed is not None:
        update_rounded(on, rule, param, states, grad, seed)
        return None
    taken = on.record_like(value) if records else None
    if sparse:
        on.update_rows(rule, param, states, grad, duplicates, taken)
    else:
        on.update_all(rule, param, states, grad, taken)
    return None if taken is None else on.convert(taken, param.dtype)


def adjusted(on, rule, grad, duplicates, lr, *options, **named):
    """The gradient, merged where its norm is needed, and a rule that clips, turns or decays first."""
    grad, numbers = adjustment(on, grad, duplicates, lr, *options, **named)
    return grad, rule._replace(adjust=numbers)


#: Name of an optimizer -> its function of ``_rules_of``.
RULES: dict = {}


def _rules_of(op, rule_of, **fixed):
    """A function of the number of states and the attributes that are given: the rule, and whether it touches all rows.

    Checking the attributes takes as long as a third of an update of a few rows: those that stay from step to step are
    checked once, and a rule is kept for steps whose rate stays, too.
    """
    traits, wanted = op.definition.optimizer, inspect.signature(rule_of).parameters

    @functools.lru_cache(256)
    def settled(count, **attrs):
        attrs = {**op.defaults, **fixed, **attrs, "count": count}
        attrs = {name: attrs[name] for name in wanted if name not in ("lr", "iteration")}
        traits.check(attrs)
        return functools.partial(rule_of, **attrs), traits.touches_all(attrs)

    def rule_of_step(count, step, attrs):
        traits.check(step)
        made, touches_all = settled(count, **attrs)
        rule = made(**step)
        return rule._replace(rowwise=True) if traits.rowwise else rule, touches_all

    @functools.lru_cache(256)
    def rule(count, lr, **attrs):
        return rule_of_step(count, {"lr": lr}, attrs)

    @functools.lru_cache(256)
    def rule_at(count, lr, iteration, **attrs):
        return rule_of_step(count, {"lr": lr, "iteration": iteration}, attrs)

    if "iteration" in wanted:
        return lambda count, lr, *, iteration, **attrs: rule_at(count, lr, one_number(iteration), **attrs)
    return rule


def _prepared(
    on,
    rule,
    param,
    grad,
    lr,
    duplicates,
    touches_all,
    lazy,
    *,
    weight_decay=0.0,
    decoupled=False,
    maximize=False,
    clip_value=None,
    clip_norm=None,
    mask=None,
    rounding_seed=None,
    return_step=False,
):
    """What options make of a gradient and its rule. Returns them, and the last three arguments of ``update``."""
    if return_step:
        check_record(grad, duplicates, mask)
    check_rounding(param, duplicates, rounding_seed, True if return_step else None)
    touches_all = touches_all or (weight_decay != 0 and not lazy)
    if mask is not None:
        grad, touches_all = masked(on, grad, mask, duplicates, touches_all), False
    grad, rule = adjusted(on, rule, grad, duplicates, lr, weight_decay, decoupled, maximize, clip_value, clip_norm)
    return grad, rule, (touches_all, return_step, rounding_seed)


OPTIONS = frozenset(inspect.getfullargspec(_prepared).kwonlyargs)


def update_kernel(op, rule_of, **fixed):
    """Register an operator for both devices: the update by ``rule_of(**attributes)``, of param, grad and states."""
    name, names, rules = op.name, [*op.inputs][2:], _rules_of(op, rule_of, **fixed)
    usual = {option: op.defaults[option] for option in OPTIONS if op.defaults.get(option)}
    RULES[name] = rules

    def launch(on, param: Dense, grad: Dense | SelectedRows, /, *states, lr, duplicates, lazy, **attrs):
        lr = learning_rate(lr)
        if states and states[-1] is None:
            states = states[:-1]
        options = {option: attrs.pop(option) for option in OPTIONS.intersection(attrs)} if attrs else None
        rule, touches_all = rules(len(states), lr, **attrs)
        last = (touches_all and not lazy,)
        if options or usual:
            given = {**usual, **(options or {})}
            grad, rule, last = _prepared(on, rule, param, grad, lr, duplicates, *last, lazy, **given)
        step = update(on, name, rule, param, grad, names, states, duplicates, *last)
        result = (param, *states) if step is None else (param, *states, step)
        return result if states else param

    launch.__name__ = launch.__qualname__ = name
    op.kernel("cpu", "cuda")(launch)
