"""What the steps of a group need, settled when its settings are checked."""

from __future__ import annotations

import operator

import numpy as np

from ..arrays import device_of, dtype_of, may_share_memory
from ..arrays.recorded import plain_view, state
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
    parameters : list of Parameter
    """

    def __init__(self, optimizer, group):
        self._group, self._params = dict(group), dict(group["params"])
        self._names = *group, *self._params
        self._values = *group.values(), *self._params.values()
        self.attrs = optimizer._group_attrs(group)
        self.parameters = [
            Parameter(optimizer, name, param, optimizer._states[name]) for name, param in self._params.items()
        ]

    def are_of(self, group):
        """Whether the group is the same: the very objects, in their order, so that this takes half a microsecond."""
        if not (isinstance(group, dict) and isinstance(params := group.get("params"), dict)):
            return False
        same_names = (*group, *params) == self._names
        return same_names and all(map(operator.is_, self._values, (*group.values(), *params.values())))

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


class Parameter:
    """A parameter with its states, and the facts of the last gradient that was found good for it.

    Attributes
    ----------
    name : str
    array : array
        Its numbers.
    states : dict
        All that is kept of it, the steps done too.
    inputs : list of arrays
        Its states as the operator takes them.
    """

    def __init__(self, optimizer, name, param, states):
        self.name, self.array, self.states = name, plain_view(param), states
        self.inputs = [states[name] for name in optimizer._inputs if name in states]
        self._arrays = self.array, *self.inputs, *([states[MASTER]] if MASTER in states else ())
        self._are_plain = all(type(x) is np.ndarray for x in self._arrays)
        self._good = None

    def check(self, op, group, grad, attrs):
        """Refuse a gradient with which the operator would refuse the step; one like the last costs a look at arrays."""
        sparse, facts = type(grad) is SelectedRows, None
        value = grad._value if sparse else grad
        if self._are_plain and type(value) is np.ndarray and not state.open:
            array = self.array
            own = value.flags.owndata and array.flags.owndata and value is not array
            if own or not may_share_memory(array, value):
                whole = not sparse or len(grad._rows) == len(value)
                shape = (grad.height, *value.shape[1:]) if sparse else value.shape
                flags = [x.flags.num for x in self._arrays]
                facts = sparse, whole, shape, value.dtype, array.shape, array.dtype, *flags
        if facts is None or facts != self._good:
            check_gradient(op, group, self.name, self.array, grad, self.states, attrs)
            self._good = facts
