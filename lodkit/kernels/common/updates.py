"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

import functools
import inspect
import math

import numpy as np

from ...arrays import are_apart, native
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
from . import optimizer_steps as steps
from .optimizer_rules import Rule, make_rule
from .random_rounding import SINGLE, update_rounded

#: Types, shapes and layouts of arrays with memory of their own, in which ``check_update`` found nothing to refuse; by
#: these, what the device keeps for updates of such arrays.
_CHECKED: dict = {}
_MAX_CHECKED = 4096


def check_arrays(on, name, param, grad, names, states, rowwise=False, pairs=False, counter=False):
    """Check all arrays of an update before anything is written.

    Returns a dictionary in which the device may keep what it chooses for arrays of these types, shapes and layouts;
    None where they have no memory of their own.
    """
    sparse = type(grad) is SelectedRows
    value, facts = grad._value if sparse else grad, None
    if type(param) is type(value) is np.ndarray and len({id(value), id(param), *map(id, states)}) == 2 + len(states):
        kinds = [name, pairs, value.dtype, value.shape[1:], value.flags.num, grad.height if sparse else value.shape]
        for x in (param, *states):
            kinds += x.dtype, x.shape, x.flags.num
        facts = tuple(kinds)
        known = _CHECKED.get(facts)
        if known is not None:
            return known
    check_update(name, param, grad, names, states, rowwise, pairs, counter)
    if facts and are_apart((param, value, *states)):
        if len(_CHECKED) >= _MAX_CHECKED:
            _CHECKED.clear()
        return _CHECKED.setdefault(facts, {})
    on.refuse_overlap("param", param, [value, *states], ["grad", *names])
    for i, array in enumerate(states):
        on.refuse_overlap(names[i], array, [value, *states[i + 1 :]], ["grad", *names[i + 1 :]])
    return None


def dense_gradient(on, grad):
    """SelectedRows as the dense gradient; halves as float32, since their sums are not to be rounded before the step."""
    if native(grad.dtype) == np.float16:
        grad = SelectedRows._wrap(grad._rows, on.convert(grad.value, SINGLE), grad.height, grad.is_merged)
    return on.dense_rows(grad)


def step_dense(on, rule, param, states, grad, records=False, seed=None):
    """Step all of a parameter by a dense gradient. Returns the steps that were subtracted, with ``records``."""
    if seed is not None:
        update_rounded(on, rule, param, states, grad, seed)
        return None
    taken = on.record_like(grad) if records else None
    on.update_all(rule, param, states, grad, taken)
    return None if taken is None else on.convert(taken, param.dtype)


def step_rows(on, rule, param, states, grad, duplicates="merge", touches_all=False, records=False, seed=None):
    """Step the rows of a parameter that SelectedRows list, or all of them where the rule ``touches_all``."""
    if touches_all:
        check_merged(duplicates)
        if seed is None and not records and on.update_all_rows(rule, param, states, grad):
            return None
        return step_dense(on, rule, param, states, dense_gradient(on, grad), records, seed)
    if seed is not None:
        update_rounded(on, rule, param, states, grad, seed)
        return None
    taken = on.record_like(grad._value) if records else None
    on.update_rows(rule, param, states, grad, duplicates, taken)
    return None if taken is None else on.convert(taken, param.dtype)


def update(on, name, rule, param, grad, names=(), states=(), duplicates="merge", touches_all=False):
    """Check everything, then step a parameter and its states by a gradient of either kind.

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
    """
    check_arrays(on, name, param, grad, names, states, rule.rowwise, rule.pairs)
    if isinstance(grad, SelectedRows):
        step_rows(on, rule, param, states, grad, duplicates, touches_all)
    else:
        step_dense(on, rule, param, states, grad)


def adjusted(on, rule, grad, duplicates, lr, *options, **named):
    """The gradient, merged where its norm is needed, and a rule that clips, turns or decays first."""
    grad, numbers = adjustment(on, grad, duplicates, lr, *options, **named)
    return grad, rule._replace(adjust=numbers)


MOST_STEPS = 2**53  # of which each is a float

#: Name of an optimizer -> its ``settled`` of ``_rules_of``.
RULES: dict = {}


def _rules_of(op):
    """Make ``settled(count, **attrs)``: what makes the numbers of a step, and whether its rule touches all rows.

    ``count`` is the number of states. The attributes that stay from step to step are checked once; the rate and the
    iteration, which move, at each step.
    """
    record = op.definition.optimizer
    wanted = inspect.signature(record.numbers).parameters

    @functools.lru_cache(256)
    def settled(count, **attrs):
        attrs = {**op.defaults, **attrs, "count": count}
        attrs = {name: attrs[name] for name in wanted if name not in ("lr", "iteration")}
        record.check(attrs)
        make = functools.partial(record.numbers, **attrs)
        if "lr" in record.positive:
            make = functools.partial(_numbers_by_positive_rate, record, make)
        if "iteration" in wanted:
            make = functools.partial(_numbers_at, record, make)
        return make, record.touches_all(attrs)

    return settled


def _numbers_at(record, make, *, lr, iteration):
    iteration = one_number(iteration)
    if not (0 <= iteration < MOST_STEPS and iteration % 1 == 0):
        record.check({"iteration": iteration})
    return make(lr=lr, iteration=iteration)


def _numbers_by_positive_rate(record, make, *, lr, **step):
    if not lr > 0:
        record.check({"lr": lr})
    return make(lr=lr, **step)


def step_of(lr, iteration=None):
    """The attributes of a rule that move from step to step."""
    return {"lr": lr} if iteration is None else {"lr": lr, "iteration": iteration}


def _prepared(
    on,
    rule,
    param,
    grad,
    lr,
    duplicates,
    touches_all,
    lazy,
    mask,
    weight_decay,
    decoupled,
    maximize,
    clip_value,
    clip_norm,
    rounding_seed,
    return_step,
):
    """Apply the options of an update to its gradient and rule. Returns them, and what ``step_rows`` is told."""
    if return_step:
        check_record(grad, duplicates, mask)
    check_rounding(param, duplicates, rounding_seed, True if return_step else None)
    touches_all = touches_all or (weight_decay != 0 and not lazy)
    if mask is not None:
        grad, touches_all = masked(on, grad, mask, duplicates, touches_all), False
    grad, rule = adjusted(on, rule, grad, duplicates, lr, weight_decay, decoupled, maximize, clip_value, clip_norm)
    return grad, rule, touches_all, return_step, rounding_seed


def update_kernel(op):
    """Register two kernels of an optimizer on both devices, by its record: of a dense gradient, and of SelectedRows."""
    name, names, settled = op.name, [*op.inputs][2:], _rules_of(op)
    rowwise, pairs = op.definition.optimizer.rowwise, op.definition.optimizer.pairs
    RULES[name] = settled

    def kernel(kind, step):
        def launch(
            on,
            param: Dense,
            grad,
            /,
            *states,
            lr,
            duplicates,
            lazy,
            weight_decay=0.0,
            decoupled=False,
            maximize=False,
            clip_value=None,
            clip_norm=None,
            mask=None,
            rounding_seed=None,
            return_step=False,
            iteration=None,
            **attrs,
        ):
            if type(lr) is not float or lr - lr != 0:
                lr = learning_rate(lr)
            if states and states[-1] is None:
                states = states[:-1]
            make, touches_all = settled(len(states), **attrs)
            found = make(lr=lr) if iteration is None else make(lr=lr, iteration=iteration)
            # As make_rule does: a call less, half a microsecond.
            step_name, numbers = found if type(found[0]) is str else (name, found)
            rule = Rule(getattr(steps, step_name), numbers, (), rowwise, pairs and len(states) == 1)
            last = [touches_all and not lazy]
            options = weight_decay, decoupled, maximize, clip_value, clip_norm, rounding_seed, return_step
            if mask is not None or options != NO_OPTIONS:
                grad, rule, *last = _prepared(on, rule, param, grad, lr, duplicates, last[0], lazy, mask, *options)
            known = check_arrays(on, name, param, grad, names, states, rule.rowwise, rule.pairs)
            if kind is SelectedRows and last in LISTED_ROWS:
                taken = on.update_rows(rule, param, states, grad, duplicates, known=known)
            else:
                taken = step(on, rule, param, states, grad, duplicates, *last)
            result = (param, *states) if taken is None else (param, *states, taken)
            return result if states else param

        def loops(on, param, grad, /, *states, lr, duplicates, lazy, mask=None, iteration=None, **attrs):
            states = tuple([x for x in states if x is not None])
            of_rule = {key: x for key, x in attrs.items() if key not in OPTIONS}
            make, touches_all = settled(len(states), **of_rule)
            rule = make_rule(op, make(**step_of(learning_rate(lr), iteration)), len(states))
            if any(attrs.get(key) for key in ("weight_decay", "maximize", "clip_value", "clip_norm")):
                rule = rule._replace(adjust=(0.0, 1.0, 1.0, math.inf))
            taken = grad if attrs.get("return_step") else None
            sparse = kind is SelectedRows or mask is not None
            everywhere = mask is None and not lazy and (touches_all or attrs.get("weight_decay"))
            if attrs.get("rounding_seed") is not None or (sparse and everywhere and taken is not None):
                sparse = False
            if sparse and everywhere:
                function, width = on.spread_loop(rule, param, states) or on.dense_loop(rule, param, states, grad)
            elif sparse:
                function, width = on.rows_loop(rule, param, states, grad, duplicates, taken)
            else:
                function, width = on.dense_loop(rule, param, states, grad, taken)
            return [(function, {"lanes": width} if width else {})]

        launch.__annotations__["grad"] = kind
        launch.__name__ = launch.__qualname__ = f"{name}_{'rows' if kind is SelectedRows else 'dense'}"
        op.kernel("cpu", "cuda", choose_loops=loops)(launch)

    kernel(Dense, _step_given_dense)
    kernel(SelectedRows, step_rows)


#: Options of an update that change nothing.
NO_OPTIONS = (0.0, False, False, None, None, None, False)
#: What ``step_rows`` is told of an update of the listed rows alone, without options and with them.
LISTED_ROWS = [False], [False, False, None]
#: Options of an update: attributes that are none of a rule's.
OPTIONS = frozenset(
    ("weight_decay", "decoupled", "maximize", "clip_value", "clip_norm", "rounding_seed", "return_step")
)


def _step_given_dense(on, rule, param, states, grad, duplicates, touches_all, *options):
    """Step by a dense gradient; by the rows that a mask has left of it, which are SelectedRows."""
    if type(grad) is SelectedRows:
        return step_rows(on, rule, param, states, grad, duplicates, touches_all, *options)
    return step_dense(on, rule, param, states, grad, *options)
