"""Kinds of inputs: Dense, LoDTensor, SelectedRows, RankTable, or None for optional ones."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
import typing

import numpy as np

from ..arrays import from_lists, is_array, is_floating, plain_array
from ..arrays.objects import OBJECTS, refuse_objects
from ..arrays.recorded import Parameter, RecordedArray, operand, plain_view, recorded, views_of
from ..base.errors import LoDError, LoDMismatchError
from ..lod import LoDTensor, RankTable, SelectedRows, mismatch
from ..lod.levels import resized
from ..lod.nesting import from_nested

if typing.TYPE_CHECKING:
    Dense: typing.TypeAlias = typing.Any
else:

    class Dense:
        """Kind of plain arrays: numpy.ndarray, PyTorch's tensors, any that exports ``__cuda_array_interface__``."""


CONTAINERS = (LoDTensor, SelectedRows, RankTable)
LISTS = (list, tuple, int, float, np.generic)  # become arrays, on the device of the others


@functools.cache
def _compile_annotation(text):
    return compile(text, "<annotation>", "eval")


def hints_of(function):
    """``typing.get_type_hints(function)``, which compiles each annotation anew: 17 of the 75 ms of all operators."""
    space = getattr(inspect.unwrap(function), "__globals__", {})
    found = inspect.get_annotations(function).items()
    given = {name: eval(_compile_annotation(x), space) if type(x) is str else x for name, x in found}
    return typing.get_type_hints(types.SimpleNamespace(__annotations__=given))


def kinds_of(hint):
    """Kinds that an annotation allows."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return frozenset(Dense if kind is np.ndarray else kind for kind in kinds)


def kind_keys(kinds, variadic):
    """Entries of a kernel's keys for an input of any of ``kinds``; for any number of inputs every mix, of all first."""
    names = sorted("None" if kind is type(None) else kind.__name__ for kind in kinds)
    if not variadic:
        return names
    names = [name for name in names if name != "None"]
    return ["|".join(some) for count in range(len(names), 0, -1) for some in itertools.combinations(names, count)]


def kind_of(x):
    """Kind of a value."""
    if x is None:
        return type(None)
    return type(x) if isinstance(x, CONTAINERS) else Dense


def numbers_of(x):
    """Array of a value's numbers: of a tape, a LoDTensor and its values are one variable."""
    if isinstance(x, SelectedRows):
        return x._value
    return x._values if isinstance(x, LoDTensor) else x


def unwrapped(x):
    """The variable behind a recorded array, also in a LoDTensor or SelectedRows; other values as they are."""
    array = numbers_of(x)
    return with_numbers(x, operand(array)) if isinstance(array, RecordedArray) else x


def wrapped(x):
    """A floating array, or a LoDTensor or SelectedRows of one, as recorded."""
    array = numbers_of(x)
    return with_numbers(x, recorded(array)) if type(array) is np.ndarray and is_floating(array.dtype) else x


def with_numbers(x, array):
    """A value with another array of as many rows in place of its own."""
    if isinstance(x, SelectedRows):
        return x._with_value(array)
    return x._like(array) if isinstance(x, LoDTensor) else array


def given_back(result, plain, inputs):
    """A result; inputs that an operator returns come back as they were given, before they were made plain."""
    if type(result) is tuple:
        return tuple([given_back(r, plain, inputs) for r in result])
    for i, x in enumerate(plain):
        if x is result and not isinstance(inputs[i], list | tuple):
            return inputs[i]
    return result


def call_on_plain(run, inputs):
    """Call a function that updates on the plain arrays behind parameters, which it returns as they were given.

    No gradient flows through an update: on a tape, too, its rates and states are numbers.
    """
    plain = [with_numbers(x, plain_view(numbers_of(x))) if is_parameter(x) else x for x in inputs]
    return given_back(run(*plain), plain, inputs)


def is_parameter(x):
    """Whether a value is a parameter, or a LoDTensor or SelectedRows of one."""
    return type(numbers_of(x)) is Parameter


def views_kept(result, recorded):
    """A result; what shares memory with a parameter among the inputs is a parameter, too."""
    if type(result) is tuple:
        return tuple([views_kept(r, recorded) for r in result])
    array = numbers_of(result)
    if getattr(array, "base", None) is None:
        return result
    made = views_of([x for x in recorded if type(x) is Parameter], array)
    return result if made is array else with_numbers(result, made)


def owner_of(array):
    """What owns an array's memory: of a view what it is a view of, in NumPy, PyTorch and CuPy."""
    while (base := getattr(array, "base", getattr(array, "_base", None))) is not None:
        array = base
    return array


def replaced(x, array, other):
    """``x`` with another array in place of ``array``."""
    if numbers_of(x) is not array:
        return x
    return with_numbers(x, other)


def aligned(x, like, name, other="the ids"):
    """Array of ``x``, one row per row of ``like``, which must have the structure of ``x`` if that has any."""
    if isinstance(x, LoDTensor) and x.lod_level:
        if not isinstance(like, LoDTensor):
            raise LoDMismatchError(f"{name} has lod_level {x.lod_level}, {other} have none; pass {name}.values")
        if not x.same_lod(like):
            raise mismatch(f"{name} against {other}", x, like)
    return x.values if isinstance(x, LoDTensor) else x


def on_gpu(x):
    """True if a value is on a GPU."""
    x = numbers_of(x)
    return not isinstance(x, np.ndarray) and is_array(x)


def name_of(x):
    """Name of a value's kind, as in keys."""
    return "None" if x is None else kind_of(x).__name__


def _nested(x):
    return isinstance(x, list | tuple) and bool(x) and all(isinstance(part, list | tuple) for part in x)


def accept(x, allowed, name):
    """Normalise ``x``: a list becomes an array, a list of lists a LoDTensor where only that is taken.

    A LoDTensor without levels becomes its values where none is taken.
    """
    if isinstance(x, LoDTensor) and x.lod_level == 0 and LoDTensor not in allowed:
        return x._values
    if isinstance(x, LISTS):
        if Dense in allowed:
            return refuse_objects(from_lists(x, name), name, x)
        if LoDTensor in allowed and _nested(x):
            return from_nested(LoDTensor, x, None, None, name)
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        return plain_array(x, name)
    return x


def check_whole(op, name, x):
    """Check that rows match the structure: arrays can be resized after a LoDTensor was made of them."""
    if isinstance(x, LoDTensor):
        if x._values is None:
            raise LoDError(f"{op}: {name} has structure but no values; give it some with set_values(...)")
        if not x.has_valid_recursive_sequence_lengths():
            raise resized(f"{op}: {name}", x._row_offsets()[-1], x._values)
    if isinstance(x, SelectedRows):
        x._whole(f"{op}: {name}")


def keep_structure(result, x, levels):
    """Return a result, or each of several, with the levels of ``x``, of whose rows it has one each; without, as it is.

    The result is checked again: a factor that repeats may give it more rows.
    """
    if not levels:
        return result
    if isinstance(result, tuple):
        return tuple([keep_structure(part, x, levels) for part in result])
    fits = type(result) is np.ndarray and result.ndim and levels[-1].item(-1) == len(result)
    if not fits or result.dtype.kind in OBJECTS:
        return x.with_values(result)
    made, rows = x._wrap(result, levels), x._rows
    # Another thread may replace the structure of x.
    if x._lod is levels:
        made._rows = rows
    return made


def run_rows(name, kernel, *inputs, **attrs):
    """Run a rowwise kernel on the values of LoDTensors, and give the result their structure."""
    like = None
    for x in inputs:
        if isinstance(x, LoDTensor) and x.lod_level:
            if like is not None and not like.same_lod(x):
                raise LoDMismatchError(f"{name}: two inputs have different structure: {like.lod()} and {x.lod()}")
            like = x if like is None else like
    result = kernel(*(x._values if isinstance(x, LoDTensor) else x for x in inputs), **attrs)
    return result if like is None else keep_structure(result, like, like._lod)
