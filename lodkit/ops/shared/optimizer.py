"""Declaration of optimizers: a rule for rows becomes an operator, with what all of them share."""

from __future__ import annotations

import functools
import inspect
from types import MappingProxyType

import numpy as np

from ...arrays import FLOATING, Drafts, Scalar
from ...lod import SelectedRows
from ...registry import Dense, op, takes_bfloat16
from . import plain
from .optimizer_docs import complete
from .optimizer_record import describe
from .updates import (
    LAST_DIGITS,
    Duplicates,
    adjustment,
    check_record,
    check_rounding,
    check_update,
    check_whole,
    grad_steps,
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


def jittered(rows, where, seed, dtype):
    """Numbers moved by up to half a half's last digit to either side, by a hash of their place in the parameter."""
    columns = rows[0].size if rows.ndim and len(rows) else 1
    numbers = np.arange(len(rows)) if isinstance(where, slice) else np.asarray(where) if rows.ndim else np.zeros(1)
    places = (numbers.astype(np.int64)[:, None] * columns + np.arange(columns)).reshape(rows.shape)
    h = (places * 0x9E3779B1 + seed * 0x85EBCA77) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    share = ((h ^ (h >> 16)) >> 8) * 2.0**-24 - 0.5
    _, exponents = np.frexp(rows)
    digits, least = LAST_DIGITS[dtype.kind]
    moved = rows + share * np.ldexp(1.0, np.maximum(exponents - digits, least))
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
                        after = jittered(after, where, seed, array.dtype)
                    array[where] = after
                    if i == 0 and records is not None:
                        records.append(before - after)


#: Annotations that a rule may leave out, as written.
HINTS = {
    "Dense": Dense,
    "Dense | None": Dense | None,
    "Dense | SelectedRows": Dense | SelectedRows,
    "Scalar": Scalar,
    "bool": bool,
    "float": float,
    "int": int,
}


def _hint(i, p):
    """The annotation of a parameter of a rule that has none, as written."""
    if p.kind is p.KEYWORD_ONLY:
        return "Scalar" if p.default is p.empty else type(p.default).__name__
    return "Dense | SelectedRows" if i == 1 else "Dense" if p.default is p.empty else "Dense | None"


def _annotate(rule):
    """The signature of a rule, and its type hints: annotations are added where it has none."""
    own, hints = inspect.signature(rule), dict(rule.__annotations__)
    parameters = []
    for i, p in enumerate(own.parameters.values()):
        if p.annotation is p.empty:
            p = p.replace(annotation=_hint(i, p))
            hints[p.name] = HINTS[p.annotation]
        parameters.append(p)
    own = own.replace(parameters=parameters)
    if own.return_annotation is own.empty:
        arrays = [p for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name != "grad"]
        several = any(p.default is None for p in arrays) or any(p.name.startswith("return_") for p in parameters)
        text, hints["return"] = "Dense", Dense
        if len(arrays) > 1:
            text = f"tuple[{', '.join(['Dense', '...'] if several else ['Dense'] * len(arrays))}]"
            hints["return"] = tuple[Dense, ...] if several else tuple[(Dense,) * len(arrays)]  # type: ignore[misc]
        own = own.replace(return_annotation=text)
    return own, hints


def optimizer(title, summary, /, *, defaults=MappingProxyType({}), **more):
    """Make an operator of a rule, and give it the attributes that all optimizers share.

    The rule is ``def name(param, grad, *states, /, *, lr, ...)``, of rows and their gradient in double precision, which
    returns the parameter and the states after the step. Its signature and docstring are the operator's. Annotations may
    be left out (Scalar for what has no default, else the type of the default), and so may parameters in the docstring
    that ``optimizer_docs`` knows.

    Parameters
    ----------
    title, summary, **more
        As in ``OptimizerRecord``; ``touches_all`` may be True or False.
    defaults : dict
        Of shared attributes, where they are not the usual ones.
    """

    def make(rule):
        own, hints = _annotate(rule)
        whole, counter = more.get("whole"), more.get("counter")
        absent = {*own.parameters, *(["decoupled"] if "weight_decay" in own.parameters else [])}
        absent |= {"rounding_seed"} if whole or counter else set()
        shared = {name: (*spec[:2], defaults.get(name, spec[2])) for name, spec in SHARED.items() if name not in absent}
        names = [p.name for p in own.parameters.values() if p.kind is p.POSITIONAL_ONLY]
        usual = {p.name: p.default for p in own.parameters.values() if p.kind is p.KEYWORD_ONLY}

        @functools.wraps(rule)
        def definition(param, grad, *states, **attrs):
            record = definition.optimizer
            states = [s for s in states if s is not None]
            check_update(rule.__name__, param, grad, names[2:], states, **record.kinds(states))
            given = {name: attrs.get(name, spec[2]) for name, spec in shared.items()}
            attrs = {name: plain_number(attrs.get(name, default)) for name, default in usual.items()}
            record.check(attrs)
            if record.whole:
                check_whole(rule.__name__, given["duplicates"])
            records = [] if attrs.pop("return_step", False) else None
            if records is not None:
                check_record(grad, given["duplicates"], given["mask"])
            spreads = record.spreads({**attrs, **given})
            steps_by = grad
            if given["mask"] is not None:
                steps_by, spreads = masked(plain, grad, given["mask"], given["duplicates"], spreads), False
            seed = given.get("rounding_seed")
            check_rounding(param, given["duplicates"], seed, records)
            adjusting = {name: given[name] for name in ADJUSTING if name in given}
            steps_by, adjust = adjustment(plain, steps_by, given["duplicates"], attrs["lr"], **adjusting)
            parts = (states[0][..., 0], states[0][..., 1]) if record.pairs and len(states) == 1 else states
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
        definition.__annotations__ = {**hints, **{name: spec[1] for name, spec in shared.items()}}
        definition.__doc__ = complete(rule.__doc__, names[2:], usual, shared)
        operator = op(definition, updates=(names[0], *names[2:]), types=FLOATING)
        takes_bfloat16(operator)
        describe(operator, title, summary, **more)
        return operator

    return make
