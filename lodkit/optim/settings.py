"""What the steps of a group need, settled when its settings are checked."""

from __future__ import annotations

import operator

import numpy as np

from ..arrays import device_of, dtype_of
from ..arrays.recorded import state
from ..base.errors import ShapeMismatchError
from ..lod import SelectedRows
from .checks import check_gradient
from .master_weights import MASTER


class Settings:
    """Settings of a group that were found good.

    Attributes
    ----------
    attrs : dict
        Attributes of the operator.
    states : list of str
        Names of those that are kept.
    good : GoodGradients
    parameters : list of (str, array, list of str)
        Name, array and names of the states that are arrays; master weights come last.
    """

    def __init__(self, optimizer, group):
        self._group, self._params = dict(group), dict(group["params"])
        self._names = [*group], [*self._params]
        self._values = *group.values(), *self._params.values()
        self.attrs, self.states, self.good = optimizer._group_attrs(group), optimizer._names(group), GoodGradients()
        kept = *optimizer._inputs, MASTER
        self.parameters = [
            (name, param, [state for state in kept if state in optimizer._states[name]])
            for name, param in self._params.items()
        ]

    def are_of(self, group):
        """Whether the group is the same: the very objects, in their order, so that this takes half a microsecond."""
        if not (isinstance(group, dict) and isinstance(params := group.get("params"), dict)):
            return False
        found = *group.values(), *params.values()
        return ([*group], [*params]) == self._names and all(map(operator.is_, self._values, found))

    def check_kept(self, group, names):
        """Refuse changes of what states were made for."""
        for name in names:
            if self._group.get(name, False) != group.get(name, False):
                raise ValueError(
                    f"{name} decides which states are kept, and cannot be changed from {self._group.get(name)!r} to "
                    f"{group.get(name)!r}; make another optimizer"
                )
        for name, before in self._params.items():
            param = group["params"][name]
            found, expected = ((tuple(x.shape), dtype_of(x), device_of(x)) for x in (param, before))
            if found != expected:
                raise ShapeMismatchError(
                    f"{name} was {expected[1]} of shape {expected[0]} on {expected[2]} when its states were made, not "
                    f"{found[1]} of shape {found[0]} on {found[2]}; make another optimizer"
                )


class GoodGradients:
    """Facts of gradients, and of their parameters, in which ``check_gradient`` found nothing to refuse."""

    def __init__(self):
        self._facts = set()

    def check(self, op, group, name, array, arrays, grad, states, attrs):
        """Refuse a gradient with which the operator would refuse the step; one like those before is not looked through.

        ``array`` is the parameter, ``arrays`` that and its states; the others are those of ``check_gradient``.
        """
        facts = _facts_of(array, arrays, grad)
        if facts in self._facts:
            return
        check_gradient(op, group, name, array, grad, states, attrs)
        if facts is not None:
            if len(self._facts) >= MOST_FACTS:
                self._facts.clear()
            self._facts.add(facts)


MOST_FACTS = 4096


def _facts_of(array, arrays, grad):
    """What ``check_gradient`` goes by, of plain arrays that share no memory; None for others, and on open tapes."""
    sparse = type(grad) is SelectedRows
    value = grad._value if sparse else grad
    if type(value) is not np.ndarray or state.open:
        return None
    facts = [sparse, grad.height, value.shape[1:]] if sparse else [sparse, value.shape]
    if sparse and grad._rows.shape != value.shape[:1]:
        return None
    facts.append(value.dtype)
    for x in arrays:
        if type(x) is not np.ndarray:
            return None
        facts += x.shape, x.dtype, x.flags.num
    own = value.flags.owndata and array.flags.owndata and value is not array
    return tuple(facts) if own or not np.may_share_memory(array, value) else None
