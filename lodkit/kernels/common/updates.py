"""The one update of a parameter in place: checks, then the templates of the device."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType

import numpy as np

from ...arrays import is_half
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
from .optimizer_rules import UNCHANGED, Rule, make_rule
from .random_rounding import SINGLE, update_rounded

#: Types, shapes and layouts of arrays in which ``check_update`` found nothing to refuse -> whether they have memory of
#: their own, and the runs of updates of such arrays.
_CHECKED: dict[tuple, tuple[bool, dict]] = {}
_MAX_CHECKED = 4096


def check_arrays(on, name, param, grad, names, states, rowwise=False, pairs=False, counter=False):
    """Check all arrays of an update before anything is written.

    Returns a dictionary that keeps the runs of updates of arrays of these types, shapes and layouts.
    """
    sparse = type(grad) is SelectedRows
    value, arrays, facts, known = grad._value if sparse else grad, (param, *states), None, None
    if type(value) is np.ndarray:
        kinds = [name, pairs, value.dtype, value.shape[1:], value.flags.num, grad.height if sparse else value.shape]
        for x in arrays:
            if type(x) is not np.ndarray:
                break
            kinds += x.dtype, x.shape, x.flags.num
        else:
            facts = tuple(kinds)
            known = _CHECKED.get(facts)
    if known is None:
        check_update(name, param, grad, names, states, rowwise, pairs, counter)
        known = facts is not None and all(x.flags.owndata for x in (value, *arrays)), {}
        if facts:
            if len(_CHECKED) >= _MAX_CHECKED:
                _CHECKED.clear()
            _CHECKED[facts] = known
    own, runs = known
    if not own or len({id(value), *map(id, arrays)}) <= len(arrays):
        on.refuse_overlap("param", param, [value, *states], ["grad", *names])
        for i, array in enumerate(states):
            on.refuse_overlap(names[i], array, [value, *states[i + 1 :]], ["grad", *names[i + 1 :]])
    return runs


def dense_gradient(on, grad):
    """SelectedRows as the dense gradient; halves as float32, since their sums are not to be rounded before the step."""
    if is_half(grad.dtype):
        grad = SelectedRows._wrap(grad._rows, on.convert(grad.value, SINGLE), grad.height, grad.is_merged)
    return on.dense_rows(grad)


def choose_run(on, rule, param, sparse, duplicates="merge", everywhere=False, records=False):
    """Choose how an update runs. A call and its explanation both ask here.

    Parameters
    ----------
    on : module
        The device.
    rule : optimizer_rules.Rule
    param : array
    sparse : bool
        The gradient is SelectedRows.
    duplicates : {"merge", "sequential"}
    everywhere : bool
        Rows that SelectedRows do not list change too.
    records : bool
        The steps are returned.

    Returns
    -------
    run : callable
        ``run(rule, param, states, grad)`` makes the update. Returns the steps that were subtracted, if it records them.
    loops : callable
        Of the same arguments: the loops that this launches, each with the elements that it steps at once.
    """
    rounds, everywhere = rule.seed is not None, sparse and everywhere
    if everywhere:
        check_merged(duplicates)
    run, loops = functools.partial(update_rounded, on) if rounds else on.dense_update(), on.dense_loops
    if everywhere and (rounds or not on.can_spread(rule, param)):
        run = functools.partial(_update_densely, on, run)
    elif sparse and not rounds:
        run = on.rows_update(duplicates, everywhere)
        loops = functools.partial(on.rows_loops, duplicates=duplicates, everywhere=everywhere)
    if records:
        run, loops = functools.partial(_update_recorded, on, run), functools.partial(loops, records=True)
    return run, loops


def keep_run(runs, how, on, rule, param, grad):
    """Choose how an update runs, and keep it.

    Not where rows are rounded at random, which a device does by its own ids of rows, nor for a device that is made for
    a table and ends with it.
    """
    _, _, _, *options = how
    run, _ = choose_run(on, rule, param, type(grad) is SelectedRows, *options)
    if rule.seed is None and type(on) is ModuleType:
        runs[how] = run
    return run


def _update_densely(on, run, rule, param, states, grad):
    """Step all of a parameter by SelectedRows, made dense."""
    run(rule, param, states, dense_gradient(on, grad))


def _update_recorded(on, run, rule, param, states, grad):
    """Make an update; return the steps that it subtracted."""
    taken = on.record_like(grad._value if type(grad) is SelectedRows else grad)
    run(rule, param, states, grad, taken)
    return on.convert(taken, param.dtype)


def adjust_of(*, weight_decay=0.0, maximize=False, clip_value=None, clip_norm=None, **others):
    """Numbers of ``adjust`` where a call with these options has some, for ``explain``, which takes no norm."""
    return UNCHANGED if weight_decay or maximize or clip_value is not None or clip_norm is not None else ()


def loops_of(on, rule, param, states, grad, sparse, *how):
    """The loops of an update that ``choose_run`` chooses, as ``explain`` takes them."""
    _, loops = choose_run(on, rule, param, sparse, *how)
    return with_lanes(loops(rule, param, states, grad))


def with_lanes(loops):
    """Loops with the elements that each steps at once, as ``explain`` takes them."""
    return [(function, {"lanes": lanes}) for function, lanes in loops]


def update(on, name, rule, param, grad, names=(), states=(), duplicates="merge", everywhere=False):
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
    everywhere : bool
        Rows that SelectedRows do not list change too.
    """
    runs = check_arrays(on, name, param, grad, names, states, rule.rowwise, rule.pairs)
    how = rule.step, rule.adjust != (), True, duplicates, everywhere
    run = runs.get(how) or keep_run(runs, how, on, rule, param, grad)
    run(rule, param, states, grad)


def adjusted(on, rule, grad, duplicates, lr, *options, **named):
    """The gradient, merged where its norm is needed, and a rule that clips, turns or decays first."""
    grad, numbers = adjustment(on, grad, duplicates, lr, *options, **named)
    return grad, rule._replace(adjust=numbers)


MOST_STEPS = 2**53  # of which each is a float

#: Name of an optimizer -> ``rule_at`` of it.
RULES: dict = {}


def _rules_of(op):
    """Make ``settled(count, **attrs)``: what makes the numbers of a step, and whether its rule touches all rows.

    ``count`` is the number of states. The attributes that stay from step to step are checked once; the rate and the
    iteration, which move, at each step.
    """
    record, wanted = op.definition.optimizer, inspect.signature(op.definition.optimizer.numbers).parameters
    usual = {name: op.defaults.get(name) for name in wanted if name not in ("lr", "iteration", "count")}
    limits = record.limits(usual)

    @functools.lru_cache(256)
    def settled(count, **attrs):
        attrs = {name: attrs.get(name, default) for name, default in usual.items()}
        # Numbers that move from step to step come here at each: record.check takes 4 us.
        for name, fits in limits.items():
            if not fits(attrs[name]):
                record.check(attrs)
        make = functools.partial(record.numbers, **attrs, **({"count": count} if "count" in wanted else {}))
        if "lr" in record.positive:
            make = functools.partial(_numbers_by_positive_rate, record, make)
        if "iteration" in wanted:
            make = functools.partial(_numbers_at, record, make)
        return make, record.touches_all(attrs)

    return settled


def _numbers_at(record, make, *, lr, iteration):
    iteration = float(iteration) if type(iteration) is int else one_number(iteration)
    if not (0 <= iteration < MOST_STEPS and iteration % 1 == 0):
        record.check({"iteration": iteration})
    return make(lr=lr, iteration=iteration)


def _numbers_by_positive_rate(record, make, *, lr, **step):
    if not lr > 0:
        record.check({"lr": lr})
    return make(lr=lr, **step)


def _rule_at(op, settled, count, lr, iteration, attrs):
    """The rule of an optimizer with so many states at a step, by the attributes of its rule."""
    make, _ = settled(count, **attrs)
    step = {"lr": learning_rate(lr)} if iteration is None else {"lr": learning_rate(lr), "iteration": iteration}
    return make_rule(op, make(**step), count)


def apply_options(
    on,
    param,
    grad,
    lr,
    duplicates,
    everywhere,
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
    """Apply the options of an update to its gradient.

    Returns the gradient, the numbers of ``adjust``, and whether rows that SelectedRows do not list change too.
    """
    if return_step:
        check_record(grad, duplicates, mask)
    if rounding_seed is not None:
        check_rounding(param, duplicates, rounding_seed, True if return_step else None)
    everywhere = everywhere or (weight_decay != 0 and not lazy)
    if mask is not None:
        grad, everywhere = masked(on, grad, mask, duplicates, everywhere), False
    grad, adjust = adjustment(on, grad, duplicates, lr, weight_decay, decoupled, maximize, clip_value, clip_norm)
    return grad, adjust, everywhere


#: Options of an update that change nothing, beside no mask.
NO_OPTIONS = (0.0, False, False, None, None, None, False)


def update_kernel(op):
    """Register two kernels of an optimizer on both devices, by its record: of a dense gradient, and of SelectedRows."""
    name, names, settled = op.name, [*op.inputs][2:], _rules_of(op)
    record = op.definition.optimizer
    rowwise, pairs = record.rowwise, record.pairs
    RULES[name] = rule_at = functools.partial(_rule_at, op, settled)

    def kernel(kind):
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
            make, everywhere = settled(len(states), **attrs)
            found = make(lr=lr) if iteration is None else make(lr=lr, iteration=iteration)
            adjust, everywhere = (), everywhere and not lazy
            options = weight_decay, decoupled, maximize, clip_value, clip_norm, rounding_seed, return_step
            if mask is not None or options != NO_OPTIONS:
                grad, adjust, everywhere = apply_options(
                    on, param, grad, lr, duplicates, everywhere, lazy, mask, *options
                )
            # As make_rule does: a call less, half a microsecond.
            step, numbers = found if type(found[0]) is str else (name, found)
            step = getattr(steps, step)
            rule = Rule(step, numbers, adjust, rowwise, pairs and len(states) == 1, (), rounding_seed)
            runs = check_arrays(on, name, param, grad, names, states, rowwise, rule.pairs)
            how = step, adjust != (), rounding_seed is None, duplicates, everywhere, return_step
            run = runs.get(how) or keep_run(runs, how, on, rule, param, grad)
            taken = run(rule, param, states, grad)
            result = (param, *states) if taken is None else (param, *states, taken)
            return result if states else param

        def loops(on, param, grad, /, *states, lr, duplicates, mask, iteration=None, **attrs):
            states = tuple([x for x in states if x is not None])
            rule = rule_at(len(states), lr, iteration, attrs)
            rule = rule._replace(adjust=adjust_of(**attrs), seed=attrs.get("rounding_seed"))
            sparse, everywhere = kind is SelectedRows or mask is not None, mask is None and record.spreads(attrs)
            how = sparse, duplicates, everywhere, attrs.get("return_step", False)
            return loops_of(on, rule, param, states, grad, *how)

        launch.__annotations__["grad"] = kind
        launch.__name__ = launch.__qualname__ = f"{name}_{'rows' if kind is SelectedRows else 'dense'}"
        op.kernel("cpu", "cuda", choose_loops=loops)(launch)

    kernel(Dense)
    kernel(SelectedRows)
