"""How an operator type of Paddle is told: a function whose signature has its slots, its attributes and their defaults.

``@op_type def sequence_pool(ops, X, *, pooltype="AVERAGE")``: what stands before the star are input slots (those with a
default may be absent), what stands behind it are attributes. ``ops.sequence_pool`` runs the operator, or infers from
descriptions: the function is written once for both, and returns ``{output slot: value}``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping

import numpy as np

from ..arrays.generic import cast, is_array
from ..errors import LodkitError
from ..lod.lod_tensor import LoDTensor
from ..lod.selected_rows import SelectedRows
from ..public import public
from ..registry import OPS
from ..registry.desc import VarDesc
from ..registry.operators import Registry


@public(home="lodkit.paddle")
class SlotError(LodkitError, ValueError):
    """A slot that the operator type needs is missing, or one that it has not was given."""


TYPES = Registry()

#: What a saved program says of every operator: where it came from, and where it runs. No operator reads these.
OF_PROGRAMS = frozenset({"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr"})


def op_type(function):
    """Register a function as the operator type of its name."""
    TYPES[function.__name__] = function
    return function


class Running:
    """The operators of ``lodkit.OPS`` by name."""

    def __getattr__(self, name):
        return OPS[name]


class Inferring:
    """Their ``infer``, by name."""

    def __getattr__(self, name):
        return OPS[name].infer


@functools.cache  # to look at a signature takes longer than most calls
def _told(function):
    """Slots, those that must be there, and attributes."""
    _, *parameters = inspect.signature(function).parameters.values()
    slots = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    attributes = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    return [p.name for p in slots], [p.name for p in slots if p.default is p.empty], attributes


def call(ops, name, inputs, attrs):
    """Call an operator type's function, after a look at what was given."""
    function = TYPES[name]
    for what, given in (("inputs", inputs), ("attrs", attrs)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name}: {what} must be a dictionary, got {type(given).__name__}")
    slots, needed, names = _told(function)
    for slot in needed:
        if inputs.get(slot) is None:
            raise SlotError(f"{name} needs the input {slot}; its inputs are {', '.join(slots)}")
    for slot in inputs:
        if slot not in slots:
            raise SlotError(f"{name} has no input {slot}; its inputs are {', '.join(slots)}")
    attrs = {attr: value for attr, value in attrs.items() if attr not in OF_PROGRAMS}
    for attr in attrs:
        if attr not in names:
            raise SlotError(f"{name} has no attribute {attr!r}; it has {', '.join(names) or 'none'}")
    return function(ops, **{slot: _alone(x) for slot, x in inputs.items()}, **attrs)


def _alone(x):
    """A list of one variable, as programs give every slot, is that variable."""
    if isinstance(x, list | tuple) and len(x) == 1:
        return x[0] if isinstance(x[0], VarDesc | LoDTensor | SelectedRows) or is_array(x[0]) else x
    return x


def listed(x):
    """What a slot of several values holds, as a list."""
    return list(x) if isinstance(x, list | tuple) else [x]


def as_int32(x):
    """Indices as Paddle gives them: int32, without LoD."""
    if isinstance(x, VarDesc):
        return x.but(lod_level=0, dtype=np.dtype(np.int32))
    return cast(getattr(x, "values", x), np.int32)


def without_last(x, slot):
    """Ids without the last dimension of 1 that Paddle gives them."""
    if isinstance(x, VarDesc):
        return x.but(dims=x.dims[:-1])
    values = x.values if isinstance(x, LoDTensor) else x if is_array(x) else np.asarray(x)
    if values.shape[-1:] != (1,):
        raise SlotError(f"{slot} end in a dimension of 1, got shape {tuple(values.shape)}; lookup_table_v2 takes these")
    values = values.reshape(values.shape[:-1])
    return x.with_values(values) if isinstance(x, LoDTensor) else values
