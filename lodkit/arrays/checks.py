"""Checks of attribute values, built once from the annotations of an operator."""

from __future__ import annotations

import numbers
import operator
import sys
import types
import typing

import numpy as np

from ..base.bfloat16 import is_bfloat16, name_of_dtype
from ..base.suggesting import suggest_nearest
from .bfloat16 import is_plain
from .tensors import array_of, is_cpu_tensor

MAX_INT64 = (1 << 63) - 1


class Scalar:
    """Annotation: a number, or an array of one element (a learning rate)."""


def is_scalar(value):
    if type(value) is float:
        return True
    if isinstance(value, np.ndarray):
        number = value.dtype.kind in "fiu" and is_plain(value.dtype)
        return number and value.size == 1 and not isinstance(value, np.ma.MaskedArray)
    return is_number(value)


def is_number(value):
    """True if a value is a real number in the range of float64, and no duration, which NumPy counts as an integer."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return isinstance(value, (float, int, numbers.Real)) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_plain_number(value):
    """True if kernels take a number: Python's floats, and its integers of 64 bits."""
    return type(value) is float or is_plain_integer(value)


def is_integer(value) -> typing.TypeGuard[int | np.integer]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def integer(value, name):
    """An argument that counts or numbers something, as a Python integer; ``name`` is for the error."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r:.200}") from None


def is_plain_integer(value):
    """True if a value is a Python integer of 64 bits; NumPy's small integers would overflow in kernels."""
    return type(value) is int and -MAX_INT64 <= value <= MAX_INT64


def to_tuple(value, what):
    """A list of integers as a tuple; ``what`` names the operator and the attribute in the error for other values."""
    if not (isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)):
        raise TypeError(f"{what} must be a list of integers, got {value!r}")
    return tuple(value)


def is_plain_unsigned(value):
    """True if a value is a Python integer that uint64 has and int64 has not."""
    return type(value) is int and MAX_INT64 < value < 1 << 64


def is_time(value):
    """True if a value is a date or a duration of NumPy."""
    return isinstance(value, np.datetime64 | np.timedelta64)


_WORDS = frozenset((str, int, bool, type(None)))
#: Attributes that stand for one of an operator's values, which may be of uint64 or times.
OF_VALUES = {"pad_value"}
PLAIN = {
    float: (is_plain_number, "a number"),
    int: (is_plain_integer, "an integer"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    type(None): (lambda value: value is None, "None"),
    Scalar: (is_scalar, "a number or a one-element array"),
}


class Check:
    """Test of a value, by a call; ``settled(value)`` converts it, ``error(value)`` is the exception for a misfit."""

    def __init__(self, test, expected, name, operator):
        self.test, self.expected, self.name, self.operator = test, expected, name, operator
        self.choices = None

    def __call__(self, value):
        return self.test(value)

    def settled(self, value):
        """Convert numbers and words of other types to Python's, a tensor to an array, a type to its name; or raise."""
        if is_cpu_tensor(value):
            value = array_of(value, f"{self.operator}: {self.name}")
            for plain in (value, value[()]):
                if self.test(plain):
                    return plain
        if isinstance(value, np.ndarray | np.generic) and is_bfloat16(value.dtype) and value.size == 1:
            value = float(value.astype(np.float32).item())
        if is_number(value):
            for plain in (int(value), float(value)) if is_integer(value) else (float(value),):
                if self.test(plain):
                    return plain
        if isinstance(value, str) and self.test(word := str.__str__(value)):
            return word
        if self.choices and (name := _name_of_other_type(value)) in self.choices:
            return name
        if isinstance(value, type | np.dtype | str) and (name := _name_among(self.choices or (), value)):
            return name
        raise self.error(value)

    def error(self, value):
        text = f"{self.operator}: {self.name} must be {self.expected}, got {value!r:.200}"
        if isinstance(value, str) and self.choices:
            text += suggest_nearest(value, self.choices)
        if is_integer(value) and "integer" in self.expected and abs(int(value)) > MAX_INT64:
            return ValueError(f"{text}, which an int64 does not hold")
        kinds = tuple(map(type, self.choices or ()))
        alike = isinstance(value, kinds) and not isinstance(value, bool)
        return (ValueError if alike or (int in kinds and is_integer(value)) else TypeError)(text)


def _name_of_other_type(dtype):
    """The name of a data type of PyTorch, or of NumPy's description of bfloat16; an empty text of anything else."""
    if type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype":
        return str(dtype).removeprefix("torch.")
    return name_of_dtype(dtype) if isinstance(dtype, np.dtype) and is_bfloat16(dtype) else ""


def _name_among(choices, dtype):
    """The one of some names of data types that means ``dtype``: np.float32, np.dtype("f4"), "f4", "<f4"; else None."""
    for name in filter(np.sctypeDict.__contains__, choices):
        kind = np.dtype(name)
        # Types that NumPy lacks share codes, as "V1", which it does not know.
        codes = (kind.str, kind.str[1:]) if kind.isbuiltin == 1 else ()
        if dtype in codes if isinstance(dtype, str) else dtype in (kind, kind.type):
            return name
    return None


def as_dtype(value: typing.Any, name: str = "dtype") -> np.dtype[typing.Any]:
    """A type as ``np.dtype`` takes it; ``name`` is for the error."""
    try:
        return np.dtype(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a NumPy data type, as 'float32', got {value!r:.80} ({error})") from None


def checker(hint, name, operator):
    """Make the check of an attribute annotated with ``hint``."""
    hints = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    tests: list[typing.Any] = []
    words, choices = [], ()
    for h in hints:
        if typing.get_origin(h) is typing.Literal:
            choices = typing.get_args(h)
            tests.insert(0, _is_choice(frozenset(choices)))
            words.append("one of " + ", ".join(map(repr, choices)))
        else:
            test, expected = PLAIN.get(h, (lambda value: True, "any value"))
            tests.append(test)
            words.append(expected)
    if name in OF_VALUES and float in hints:
        tests += is_plain_unsigned, is_time
        words[0] += " or a time of NumPy, as np.datetime64('2026-01-31')"
    first, *others = tests
    test = (lambda value: first(value) or any(t(value) for t in others)) if others else first
    check = Check(test, " or ".join(words), name, operator)
    check.choices = choices
    return check


def _is_choice(choices):
    # Words of a type of their own, as np.str_, are settled first: tables of plans compare them.
    return lambda value: type(value) in _WORDS and value in choices
