"""The record of an optimizer: from it and the definition all else of an optimizer is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...arrays import compute_dtype
from ...lod import SelectedRows
from ...registry import Op
from .updates import check_rule, limit_of


class OptimizerRecord(NamedTuple):
    """What there is to know of an optimizer beside its definition: everything else of it is made from both.

    Those are its kernels on each device, the update of a table by bags, and the classes of ``lodkit.optim`` and
    ``lodkit.interop.torch.optim``.

    Attributes
    ----------
    title, summary : str
        Name and docstring of its class.
    states : tuple of str
        Names of the states, optional ones too.
    touches_all : callable
        Whether rows without gradient change too, of the attributes of the rule.
    numbers : callable, optional
        Numbers of its step, a tuple, of the attributes that it names, and of ``count``, the number of states. The step
        is that of the operator's name in kernels/common/optimizer_steps.py; of several the name comes with the numbers,
        ``"name", numbers``. None where the operator has kernels of its own.
    flags : dict
        Name of a flag of the class -> the optional state that is kept where it is True.
    class_defaults : dict
        Attributes whose default is another one in the class.
    rowwise : bool
        The last state has one number per row.
    pairs : bool
        Without its second state the first one has two numbers for each of the parameter.
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

    title: str
    summary: str
    states: tuple
    touches_all: Callable
    numbers: Callable | None = None
    flags: Mapping[str, str] = MappingProxyType({})
    class_defaults: Mapping[str, Any] = MappingProxyType({})
    rowwise: bool = False
    pairs: bool = False
    positive: tuple = ()
    whole: bool = False
    counter: bool = False
    single: bool = False
    start: float = 0.0

    def list_states(self, chosen=()):
        """Names of the states that are kept, where some optional ones are chosen."""
        return [name for name in self.states if name in chosen or name not in self.flags.values()]

    def layout(self, state, shape, dtype):
        """Shape, type and first value of a state of a parameter of this shape, which is computed in this type."""
        if state != self.states[-1]:
            return shape, dtype, 0.0
        if self.single:
            return (1,), compute_dtype(np.dtype(dtype)), self.start
        return shape[:1] if self.rowwise else shape, np.dtype(np.int64) if self.counter else dtype, self.start

    def kinds(self, states):
        """What check_update is told of these states."""
        return {"rowwise": self.rowwise, "pairs": self.pairs and len(states) == 1, "counter": self.counter}

    def spreads(self, attrs):
        """Whether rows without a gradient change too, with these attributes of the rule and shared ones."""
        return not attrs.get("lazy", True) and (self.touches_all(attrs) or bool(attrs.get("weight_decay")))

    def check(self, attrs):
        """Refuse numbers outside their limits."""
        check_rule(**{self._limit(name): attrs[name] for name in self.limits(attrs)})

    def limits(self, names):
        """Tests of the numbers of some attributes that have limits, by name."""
        found = {name: limit_of(self._limit(name)) for name in names}
        return {name: fits for name, fits in found.items() if fits}

    def _limit(self, name):
        return f"positive_{name}" if name in self.positive else name


def describe(operator, title, summary, /, *, touches_all=True, **more):
    """Give an operator its record, and an example: with a dense and with a sparse gradient.

    Parameters
    ----------
    operator : Op
    title, summary, touches_all, **more
        As in ``OptimizerRecord``; ``touches_all`` may be True or False.
    """
    touches = touches_all if callable(touches_all) else lambda attrs: touches_all
    record = OptimizerRecord(title, summary, tuple(operator.inputs)[2:], touches, **more)
    operator.definition.optimizer = record
    attrs = {"lr": 0.1, **{name: record.class_defaults.get(name, 1) for name in operator._needed if name != "lr"}}

    def example(dtype):
        param = np.ones((3, 20), dtype)
        for grad in (param.copy(), SelectedRows([2, 0, 2], param.copy(), 3)):
            states = (np.ones(*record.layout(state, param.shape, param.dtype)[:2]) for state in record.list_states())
            yield (param.copy(), grad, *states), attrs

    operator.example(lambda dtype: [*example(dtype)])


def optimizers_in(module):
    """The operators of a family whose kernels are made from their records."""
    found = (x for x in vars(module).values() if isinstance(x, Op) and x.definition.__module__ == module.__name__)
    records = ((x, getattr(x.definition, "optimizer", None)) for x in found)
    return [operator for operator, record in records if record and record.numbers]
