"""Declaration of Paddle's operator types: a function whose signature has the slots, the attributes and their defaults.

``@op_type def sequence_pool(ops, X, *, pooltype="AVERAGE")``: parameters before the star are input slots (a default
makes them optional), those after it attributes. ``ops.sequence_pool`` runs the operator, or infers from descriptions:
one function serves both, and returns ``{output slot: value}``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping

import numpy as np

from ..arrays import cast, flat, is_array
from ..errors import LodkitError
from ..lod import LoDTensor, SelectedRows, values_of
from ..public import public
from ..registry import OPS, VarDesc
from ..registry.operators import Registry


@public(home="lodkit.paddle")
class SlotError(LodkitError, ValueError):
    """A required slot of the operator type is missing, or a slot is unknown."""


TYPES = Registry()

#: Attributes of every operator in a saved program (origin, device), which no operator reads.
IGNORED = frozenset({"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr"})


def op_type(function):
    """Register a function as the operator type of its name."""
    TYPES[function.__name__] = function
    return function


class Running:
    """Operators of ``lodkit.OPS`` by name."""

    def __getattr__(self, name):
        return OPS[name]


class Inferring:
    """``infer`` of the operators by name."""

    def __getattr__(self, name):
        return OPS[name].infer


@functools.cache  # inspecting a signature takes longer than most calls
def _parameters(function):
    """Return slots and attributes, and of both the required ones."""
    _, *parameters = inspect.signature(function).parameters.values()
    slots = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    attributes = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    required, needed = ([p.name for p in found if p.default is p.empty] for found in (slots, attributes))
    return [p.name for p in slots], required, [p.name for p in attributes], needed


def call(ops, name, inputs, attrs):
    """Check inputs and attributes, and call an operator type's function."""
    function = TYPES[name]
    for what, given in (("inputs", inputs), ("attrs", attrs)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name}: {what} must be a dictionary, got {type(given).__name__}")
    slots, required, names, needed = _parameters(function)
    for slot in required:
        if inputs.get(slot) is None:
            raise SlotError(f"{name} needs the input {slot}; its inputs are {', '.join(slots)}")
    for slot in inputs:
        if slot not in slots:
            raise SlotError(f"{name} has no input {slot}; its inputs are {', '.join(slots)}")
    attrs = {attr: value for attr, value in attrs.items() if attr not in IGNORED}
    for attr in attrs:
        if attr not in names:
            raise SlotError(f"{name} has no attribute {attr!r}; it has {', '.join(names) or 'none'}")
    for attr in needed:
        if attr not in attrs:
            raise SlotError(f"{name} needs the attribute {attr}; its attributes are {', '.join(names)}")
    return function(ops, **{slot: _unwrapped(x) for slot, x in inputs.items()}, **attrs)


def _unwrapped(x):
    """Unwrap a list of one variable, the form of slots in programs."""
    if isinstance(x, list | tuple) and len(x) == 1:
        return x[0] if isinstance(x[0], VarDesc | LoDTensor | SelectedRows) or is_array(x[0]) else x
    return x


def listed(x):
    """Return the values of a slot as a list."""
    return list(x) if isinstance(x, list | tuple) else [x]


def as_int32(x):
    """Convert indices to Paddle's: int32, without LoD."""
    if isinstance(x, VarDesc):
        return x.but(lod_level=0, dtype=np.dtype(np.int32))
    return cast(getattr(x, "values", x), np.int32)


def vector(x):
    """Flatten one number per sequence, of shape (sequences, 1) in Paddle."""
    return x.but(dims=x.dims[:1]) if isinstance(x, VarDesc) else flat(values_of(x))


def width(number):
    """Convert a width: Paddle's -1, the longest length, to None."""
    return None if number == -1 else number


def without_last(x, slot):
    """Remove the trailing dimension of 1 of Paddle's ids."""
    if isinstance(x, VarDesc):
        return x.but(dims=x.dims[:-1])
    values = x.values if isinstance(x, LoDTensor) else x if is_array(x) else np.asarray(x)
    if values.shape[-1:] != (1,):
        raise SlotError(
            f"{slot} must end in a dimension of 1, got shape {tuple(values.shape)}; lookup_table_v2 takes these"
        )
    values = values.reshape(values.shape[:-1])
    return x.with_values(values) if isinstance(x, LoDTensor) else values
