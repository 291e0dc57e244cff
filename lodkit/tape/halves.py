"""Halves on a tape: float16 and bfloat16 are added up in float32, by rules of gradients and in NumPy's sums."""

from __future__ import annotations

import numpy as np

from ..arrays import is_bfloat16, is_half, to_dtype, upcast
from ..arrays.recorded import Function
from ..registry.kinds import numbers_of, with_numbers


def computes_in_float32(call):
    """Whether the rule of a call gets copies in float32: of NumPy's functions of halves, whose sums would be of halves,
    and of operators that do not take bfloat16.
    """
    kinds = is_half if isinstance(call.op, Function) else is_bfloat16
    values = [numbers_of(x) for given in (call.inputs, call.outputs) for x in tuple.__iter__(given)]
    found = any(isinstance(x, np.ndarray | np.generic) and kinds(x.dtype) for x in values)
    return found and not getattr(call.op, "takes_bfloat16", False)


def widen_halves(x):
    """A value over float32 in place of halves; others as they are."""
    numbers = numbers_of(x)
    if not isinstance(numbers, np.ndarray | np.generic) or not is_half(numbers.dtype):
        return x
    return with_numbers(x, upcast(np.asarray(numbers)))


def rounded_like(x, gradient):
    """The gradient by a value of halves, which was added up in float32, in their type; others as they are."""
    given, found = numbers_of(x), numbers_of(gradient)
    if not isinstance(given, np.ndarray) or not isinstance(found, np.ndarray) or not is_half(given.dtype):
        return gradient
    if found.dtype == given.dtype:
        return gradient
    with np.errstate(over="ignore"):
        return with_numbers(gradient, to_dtype(found, given.dtype))


class Widened:
    """Inputs or results of a call, halves as float32: each is converted when a rule reads it."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __getitem__(self, i):
        found = self._values[i]
        return tuple(map(widen_halves, found)) if isinstance(i, slice) else widen_halves(found)

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def add_up(function, *arrays, **settings):
    """Run a function that adds elements up; of bfloat16 in float32, rounded once, where NumPy rounds each sum."""
    halves = [x.dtype for x in arrays if isinstance(x, np.ndarray) and is_bfloat16(x.dtype)]
    if not halves:
        return function(*arrays, **settings)
    made = np.asarray(function(*map(_upcast_array, arrays), **settings))
    rounds = len(halves) == len(arrays) and settings.get("dtype") is None
    return to_dtype(made, halves[0]) if rounds else made


def _upcast_array(x):
    return upcast(x) if isinstance(x, np.ndarray) else x
