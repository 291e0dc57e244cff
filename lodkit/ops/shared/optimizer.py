"""Declaration of optimizers: a rule for rows becomes an operator, with what all of them share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Drafts
from ...lod import SelectedRows
from ...registry import op
from . import plain
from .updates import (
    Duplicates,
    adjustment,
    check_record,
    check_rounding,
    check_rule,
    check_update,
    check_whole,
    grad_steps,
    limited,
    masked,
    plain_number,
)

#: Attributes of every optimizer: name -> annotation as written, type, default.
SHARED = {
    "duplicates": ("Duplicates", Duplicates, "merge"),
    "lazy": ("bool", bool, False),
    "weight_decay": ("float", float, 0.0),
    "decoupled": ("bool", bool, False),
    "maximize": ("bool", bool, False),
    "clip_value": ("float | None", float | None, None),
    "clip_norm": ("float | None", float | None, None),
    "mask": ("np.ndarray | None", np.ndarray | None, None),
    "rounding_seed": ("int | None", int | None, None),
}
#: Those that change the gradient or the parameter before the rule.
ADJUSTING = ("weight_decay", "decoupled", "maximize", "clip_value", "clip_norm")


class Traits(NamedTuple):
    """What launchers know of an optimizer.

    Attributes
    ----------
    rowwise : bool
        The last state has one number per row.
    pairs : bool
        Without its second state the first one has two numbers for each of the parameter.
    touches_all : callable
        Whether rows without gradient change too, of the attributes of the rule.
    positive : tuple of str
        Attributes that must be larger than 0.
    whole : bool
        The rule takes norms over all rows of a step, which one row after another has not.
    counter : bool
        The last state counts in int64.
    single : bool
        The last state is one number.
    start : float
        What the last state is at first.
    """

    rowwise: bool
    pairs: bool
    touches_all: Callable
    positive: tuple = ()
    whole: bool = False
    counter: bool = False
    single: bool = False
    start: float = 0.0

    def kinds(self, states):
        """What check_update is told of these states."""
        return {"rowwise": self.rowwise, "pairs": self.pairs and len(states) == 1, "counter": self.counter}

    def spreads(self, attrs):
        """Whether rows without a gradient change too, with these attributes of the rule and shared ones."""
        return not attrs.get("lazy", True) and (self.touches_all(attrs) or bool(attrs.get("weight_decay")))

    def check(self, attrs):
        """Refuse numbers outside their limits."""
        named = {f"positive_{name}" if name in self.positive else name: number for name, number in attrs.items()}
        check_rule(**{name: named[name] for name in limited(named)})


def jittered(rows, where, seed):
    """Numbers moved by up to half a float16's last digit to either side, by a hash of their place in the parameter."""
    columns = rows[0].size if rows.ndim and len(rows) else 1
    numbers = np.arange(len(rows)) if isinstance(where, slice) else np.asarray(where) if rows.ndim else np.zeros(1)
    places = (numbers.astype(np.int64)[:, None] * columns + np.arange(columns)).reshape(rows.shape)
    h = (places * 0x9E3779B1 + seed * 0x85EBCA77) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    share = ((h ^ (h >> 16)) >> 8) * 2.0**-24 - 0.5
    _, exponents = np.frexp(rows)
    moved = rows + share * np.ldexp(1.0, np.maximum(exponents - 11, -24))
    return np.where(np.isfinite(rows) & (rows != 0), moved, rows)


def apply(rule, param, grad, states, duplicates, touches_all, adjust=None, records=None, seed=None):
    """Step a parameter and its states by a rule for rows in double precision, in place."""
    with Drafts(param, *states) as drafts:
        for where, g in grad_steps(grad, duplicates, touches_all):
            before, *rows = (array[where].astype(np.float64) for array in drafts)
            p = before
            if adjust:
                decay, keep, factor, bound = adjust
                p, g = keep * p, factor * np.clip(g, -bound, bound) + decay * p
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                for i, (array, after) in enumerate(zip(drafts, rule(p, g, *rows), strict=False)):  # absent ones too
                    if i == 0 and seed is not None:
                        after = jittered(after, where, seed)
                    array[where] = after
                    if i == 0 and records is not None:
                        records.append(before - after)


def optimizer(rule=None, /, *, rowwise=False, pairs=False, touches_all=True, defaults=None, **more):
    """Make an operator of a rule, and give it the attributes that all optimizers share.

    Parameters
    ----------
    rule : callable
        ``def name(param, grad, *states, /, *, lr, ...)``, of rows and their gradient in double precision: returns the
        parameter and the states after the step. Its signature and docstring are the operator's.
    rowwise, pairs, touches_all, **more
        As in ``Traits``; ``touches_all`` may be True or False.
    defaults : dict, optional
        Of shared attributes, where they are not the usual ones.
    """
    if rule is None:
        settings = {"rowwise": rowwise, "pairs": pairs, "touches_all": touches_all, "defaults": defaults}
        return functools.partial(optimizer, **settings, **more)
    always, defaults = touches_all, defaults or {}
    traits = Traits(rowwise, pairs, touches_all if callable(touches_all) else lambda attrs: always, **more)
    own = inspect.signature(rule)
    absent = {*own.parameters, *(["decoupled"] if "weight_decay" in own.parameters else [])}
    absent |= {"rounding_seed"} if traits.whole or traits.counter else set()
    shared = {name: (*spec[:2], defaults.get(name, spec[2])) for name, spec in SHARED.items() if name not in absent}
    names = [p.name for p in own.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    usual = {p.name: p.default for p in own.parameters.values() if p.kind is p.KEYWORD_ONLY}

    @functools.wraps(rule)
    def definition(param, grad, *states, **attrs):
        states = [s for s in states if s is not None]
        check_update(rule.__name__, param, grad, names[2:], states, **traits.kinds(states))
        given = {name: attrs.get(name, spec[2]) for name, spec in shared.items()}
        attrs = {name: plain_number(attrs.get(name, default)) for name, default in usual.items()}
        traits.check(attrs)
        if traits.whole:
            check_whole(rule.__name__, given["duplicates"])
        records = [] if attrs.pop("return_step", False) else None
        if records is not None:
            check_record(grad, given["duplicates"], given["mask"])
        spreads = traits.spreads({**attrs, **given})
        steps_by = grad
        if given["mask"] is not None:
            steps_by, spreads = masked(plain, grad, given["mask"], given["duplicates"], spreads), False
        seed = given.get("rounding_seed")
        check_rounding(param, given["duplicates"], seed, records)
        adjusting = {name: given[name] for name in ADJUSTING if name in given}
        steps_by, adjust = adjustment(plain, steps_by, given["duplicates"], attrs["lr"], **adjusting)
        parts = (states[0][..., 0], states[0][..., 1]) if pairs and len(states) == 1 else states
        step = functools.partial(rule, **attrs)
        apply(step, param, steps_by, parts, given["duplicates"], spreads, adjust, records, seed)
        if records is not None:
            value = grad.value if isinstance(grad, SelectedRows) else grad
            return param, *states, np.reshape(records, value.shape).astype(param.dtype)
        return (param, *states) if states else param

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=text)
        for name, (text, _, default) in shared.items()
    ]
    definition.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])
    definition.__annotations__ = {**rule.__annotations__, **{name: spec[1] for name, spec in shared.items()}}
    definition.traits = traits
    return op(definition, updates=(names[0], *names[2:]))
