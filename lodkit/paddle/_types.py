"""Declaration of Paddle's operator types: a function whose signature has the slots, the attributes and their defaults.

``@op_type def sequence_pool(ops, X, *, pooltype="AVERAGE")``: parameters before the star are input slots (a default
makes them optional), those after it attributes. A slot ``X: list`` takes several variables, and always comes as a list;
a slot ``X: tuple`` takes one, or an array of tensors, which comes as a list; in any other, a list of one variable is
that one. Numbers and lists of them come as arrays. ``ops.sequence_pool`` runs the operator, or infers from
descriptions: one function serves both, and returns ``{output slot: value}``.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Mapping

import numpy as np

from ..arrays import cast, dtype_of, flat, from_lists, integers, is_array, to_device
from ..arrays.checks import PLAIN
from ..arrays.recorded import hooks
from ..base.errors import LodkitError
from ..base.loading import public
from ..lod import LoDTensor, RankTable, SelectedRows, values_of
from ..lod.large import is_size, memory_error
from ..ops.shared.updates import one_number
from ..registry import OPS, VarDesc, VarType
from ..registry.catalogue import Names
from ..registry.kinds import LISTS, call_on_plain, is_parameter
from ..registry.torch_arguments import call_published, contains_tensor
from ..tape.recording import parameter
from ._attributes import fixed_attributes, unread_attributes


@public(home="lodkit.paddle")
class SlotError(LodkitError, ValueError):
    """A required slot of the operator type is missing, or a slot is unknown."""


TYPES: Names = Names()


def op_type(function):
    """Register a function as the operator type of its name."""
    TYPES[function.__name__] = function
    return function


class Following:
    """Operators by name, and the version of Paddle that is followed, two numbers."""

    def __init__(self, version):
        self.version = version


class Running(Following):
    """Operators of ``lodkit.OPS`` by name."""

    expected, takes_lists = "an array, a LoDTensor or SelectedRows", True

    def __getattr__(self, name):
        return OPS[name].full

    @staticmethod
    def takes(x):
        """True if a variable of a program can be x."""
        return isinstance(x, LoDTensor | SelectedRows | RankTable) or is_array(x)


class Inferring(Following):
    """``infer`` of the operators by name."""

    expected, takes_lists = "a VarDesc", False

    def __getattr__(self, name):
        return OPS[name].full.infer

    @staticmethod
    def takes(x):
        return isinstance(x, VarDesc)


#: Types of attributes that functions branch on; operators check the others.
CHECKED = {
    bool: PLAIN[bool],
    int: (lambda value: not is_array(value), "an integer"),  # comparing arrays with it gives no truth value
    str: (lambda value: isinstance(value, str), "a string"),
}


class Parameters:
    """Slots and attributes of an operator type; of both the required ones, slots of several variables, and checks."""

    def __init__(self, function):
        _, *parameters = inspect.signature(function).parameters.values()
        slots = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        attributes = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        self.slots, self.attributes = ([p.name for p in found] for found in (slots, attributes))
        self.required, self.needed = ([p.name for p in found if p.default is p.empty] for found in (slots, attributes))
        self.many = frozenset(p.name for p in slots if str(p.annotation).startswith("list"))
        self.arrays = frozenset(p.name for p in slots if p.annotation == "tuple")
        self.unread, self.fixed = unread_attributes(function.__name__), fixed_attributes(function.__name__)
        self.checks = {p.name: CHECKED[type(p.default)] for p in attributes if type(p.default) in CHECKED}


_parameters = functools.cache(Parameters)  # inspecting a signature takes longer than most calls


def call(ops, name, inputs, attrs):
    """Check inputs and attributes, and call an operator type's function."""
    function = TYPES[name]
    for what, given in (("inputs", inputs), ("attrs", attrs)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name}: {what} must be a dictionary, got {type(given).__name__}")
    if isinstance(ops, Running) and contains_tensor(inputs):
        return call_published(name, lambda inputs, attrs: call(ops, name, inputs, attrs), inputs, attrs)
    known = _parameters(function)
    for slot in known.required:
        if inputs.get(slot) is None or (slot in known.many and isinstance(inputs[slot], list) and not inputs[slot]):
            raise SlotError(f"{name} needs the input {slot}; its inputs are {', '.join(known.slots)}")
    for slot in inputs:
        if slot not in known.slots:
            raise SlotError(f"{name} has no input {slot}; its inputs are {', '.join(known.slots)}")
    attrs = {attr: value for attr, value in attrs.items() if attr not in known.unread}
    for attr, only in known.fixed.items():
        value = attrs.pop(attr, only)
        if is_array(value) or value != only:
            raise NotImplementedError(f"{name} takes {attr}={only!r} only, got {value!r:.80}")
    for attr, value in attrs.items():
        if attr not in known.attributes:
            there = [*known.attributes, *known.fixed]
            raise SlotError(f"{name} has no attribute {attr!r}; it has {', '.join(there) or 'none'}")
        test, expected = known.checks.get(attr, (None, ""))
        if test and not test(value):
            raise TypeError(f"{name}: {attr} must be {expected}, got {value!r}")
    for attr in known.needed:
        if attr not in attrs:
            raise SlotError(f"{name} needs the attribute {attr}; its attributes are {', '.join(known.attributes)}")
    found = {slot: _accept(ops, name, known, slot, x) for slot, x in inputs.items()}
    try:
        if isinstance(ops, Running) and any(map(is_parameter, flat_values(found))):
            return _call_with_parameters(function, ops, found, attrs)
        return function(ops, **found, **attrs)
    except (MemoryError, ValueError, OverflowError) as error:
        if isinstance(error, LodkitError) or not is_size(error):
            raise
        raise memory_error(name, [*attrs.items(), *found.items()], error) from error


def flat_values(inputs):
    """The values of all slots, those of lists one by one."""
    return [x for value in inputs.values() for x in (value if isinstance(value, list | tuple) else (value,))]


def _call_with_parameters(function, ops, inputs, attrs):
    """Call a function with parameters as inputs: an update gets numbers; elements of arrays are parameters, too."""
    if function.__module__.endswith("._optimizers"):
        slots = [*inputs]

        def run(*values):
            found = function(ops, **dict(zip(slots, values, strict=True)), **attrs)
            return (tuple(found), *found.values())

        names, *values = call_on_plain(run, [*inputs.values()])
        return dict(zip(names, values, strict=True))
    found = function(ops, **inputs, **attrs)
    if hooks.open_tapes():
        return found
    return {slot: type(x)(map(as_parameter, x)) if type(x) in (list, tuple) else x for slot, x in found.items()}


def as_parameter(x):
    """A floating array, or a LoDTensor of one, as a parameter; other values as they are."""
    return parameter(x) if getattr(getattr(x, "dtype", None), "kind", "") == "f" else x


def _accept(ops, name, known, slot, x):
    """What a function gets for a slot."""
    if slot in known.many:
        return [] if x is None else list(x) if isinstance(x, list | tuple) else [x]
    if isinstance(x, list | tuple) and any(map(ops.takes, x)):
        if slot in known.arrays:
            return [_accept(ops, name, known, f"{slot}[{i}]", each) for i, each in enumerate(x)]
        if len(x) > 1:
            raise SlotError(f"{name}: {slot} takes one variable, got a list of {len(x)}")
        (x,) = x
    if isinstance(x, LoDTensor) and x.values is None:
        raise SlotError(f"{name}: {slot} has structure but no values; give it some with set_values(...)")
    if x is None or ops.takes(x) or "Param" in known.slots:  # what is updated in place must not become an array
        return x
    if not (ops.takes_lists and isinstance(x, LISTS)):
        raise TypeError(f"{name}: {slot} must be {ops.expected}, got {type(x).__name__}")
    return from_lists(x, f"{slot} of {name}")


def single_integer(x, slot):
    """The integer of a slot that has one; None of a description."""
    if isinstance(x, VarDesc):
        return None
    if isinstance(x, RankTable):
        raise SlotError(f"{slot} must be one integer, got RankTable")
    found = integers(to_device(values_of(x), "cpu"), slot)
    if found.size != 1:
        raise SlotError(f"{slot} must be one integer, got shape {found.shape}")
    return found.item()


def single_float(x, slot, otherwise):
    """The number of a slot that has one, in place of an attribute; that one without it, and of a description."""
    if x is None or isinstance(x, VarDesc):
        return otherwise
    found = values_of(x)
    if math.prod(found.shape) != 1:
        raise SlotError(f"{slot} must be one number, got shape {tuple(found.shape)}")
    return one_number(to_device(found, "cpu"))


def is_selected(x):
    """True if a variable is SelectedRows, or the description of some."""
    return isinstance(x, SelectedRows) or (isinstance(x, VarDesc) and x.type is VarType.SELECTED_ROWS)


def dtype_of_variable(x):
    """NumPy's type of the numbers of a value or a description."""
    return x.dtype if isinstance(x, VarDesc) else dtype_of(x.value if isinstance(x, SelectedRows) else values_of(x))


def rank(x):
    """The number of dimensions of a value or a description."""
    return len(x.dims if isinstance(x, VarDesc) else values_of(x).shape)


def last(x):
    """The last dimension of a value or a description; None if it is unknown, or there is none."""
    size = (x.dims if isinstance(x, VarDesc) else values_of(x).shape)[-1:]
    return size[0] if size and size[0] != -1 else None


def as_int32(x):
    """Convert indices to Paddle's: int32, without LoD."""
    if isinstance(x, VarDesc):
        return x.but(lod_level=0, dtype=np.dtype(np.int32))
    return cast(getattr(x, "values", x), np.int32)


def vector(x):
    """Flatten one number per sequence, of shape (sequences, 1) in Paddle."""
    return x.but(dims=x.dims[:1]) if isinstance(x, VarDesc) else flat(values_of(x))


def flatten(x):
    """Flatten numbers that Paddle reads as they lie, of any shape."""
    if isinstance(x, VarDesc):
        return x if len(x.dims) == 1 else x.but(dims=(-1,))
    return flat(values_of(x))


def width(number):
    """Convert a width: Paddle's -1, the longest length, to None."""
    return None if number == -1 else number


def without_last(x, slot):
    """Remove the trailing dimension of 1 of Paddle's ids."""
    if isinstance(x, VarDesc):
        return x.but(dims=x.dims[:-1])
    values = values_of(x)
    if values.shape[-1:] != (1,):
        remedy = "lookup_table_v2 takes these" if "lookup_table" in slot else "pass x[..., None]"
        raise SlotError(f"{slot} must end in a dimension of 1, got shape {tuple(values.shape)}; {remedy}")
    values = values.reshape(values.shape[:-1])
    return x.with_values(values) if isinstance(x, LoDTensor) else values


FIRST = (1, 8)
_EXPECTED = 'as "1.8", "2.0" or "2.6.2"'


def parse_version(version):
    """The first two numbers of a version; "2" and "2.x" are later than every 2.n."""
    if not isinstance(version, str):
        raise TypeError(f"version must be a string, {_EXPECTED}, got {version!r:.80}")
    found = re.fullmatch(r"(\d+)(?:\.(\d+|x)(?:\.\w+)*)?", version)
    if not found:
        raise ValueError(f"version must be one of Paddle's, {_EXPECTED}, got {version!r:.80}")
    minor = found[2]
    pair = int(found[1]), math.inf if minor in (None, "x") else int(minor)
    if pair < FIRST:
        raise ValueError(f"version must be 1.8 or a later one, {_EXPECTED}, got {version!r:.80}")
    return pair


@functools.lru_cache(64)
def _parse_once(kind, version):
    return kind(parse_version(version))


def operators_of(kind, version):
    """Operators by name, of ``Running`` or ``Inferring``, which follow a version of Paddle."""
    return _parse_once(kind, version) if isinstance(version, str) else kind(parse_version(version))
