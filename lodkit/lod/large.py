"""Errors for sizes that no memory holds: they name what of a call is large, which NumPy does not know.

And rows of several arrays in one, which may be that large.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..arrays import from_lists, is_integer, plain_array
from ..arrays.sizes import total_size
from ..base.bfloat16 import name_of_dtype
from ..base.binding import explain_binding, is_unbound
from ..base.errors import DTypeError, LoDError, LodkitError, SizeError
from ..base.tracebacks import restate, shorten
from .joining import concatenate_exactly

F = TypeVar("F", bound=Callable)

_MIN_REPORTED_SIZE = 1 << 16
_NO_ARRAY = ("array is too big", "Maximum allowed", "cannot reshape array of size 0", "Python int too large")


def needs_memory(function: F) -> F:
    """Decorator of methods of structures: a size that no memory holds raises a SizeError that names it.

    Errors end at the line that calls the method.
    """

    @functools.wraps(function)
    def call_function(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if is_unbound(error) and not restate(error, clear := explain_binding(function, args, kwargs)):
                raise clear from error
            if isinstance(error, LodkitError) or not is_size(error):
                shorten(error)
                raise
            named = inspect.signature(function).bind(*args, **kwargs).arguments
            raise memory_error(_callable_name(function, args), named.items(), error) from error

    return call_function  # type: ignore[return-value]


def _callable_name(function, args):
    """A function, a method or a class as its caller knows it."""
    if "." not in function.__qualname__:
        return function.__name__
    # The class itself, not the mixin that defines the method.
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    return owner.__name__ if function.__name__ == "__init__" else f"{owner.__name__}.{function.__name__}"


def is_size(error):
    """Whether an error says that an array would be too large."""
    return isinstance(error, MemoryError) or (
        isinstance(error, ValueError | OverflowError) and str(error).startswith(_NO_ARRAY)
    )


def memory_error(what, named, error):
    """The error for arguments, pairs of name and value, whose sizes no memory holds."""
    asked = ", ".join(words for name, x in named for words in _describe_size(name, x))
    if not asked:
        shapes = (str(np.shape(_numbers(x))) for _, x in named if isinstance(_numbers(x), np.ndarray))
        asked = "inputs of shapes " + ", ".join(shapes)
    return SizeError(f"{what}: there is no memory for a call with {asked} ({error}); pass smaller sizes")


def _numbers(x):
    return x.values if _is_lod_tensor(x) else getattr(x, "value", x)


def _is_lod_tensor(x):
    from .lod_tensor import LoDTensor

    return isinstance(x, LoDTensor)


def _describe_size(name, x):
    """What is large of an argument: its shape, its integers."""
    if isinstance(x, list | tuple):
        if any(is_integer(number) and abs(int(number)) >= _MIN_REPORTED_SIZE for number in x):
            yield f"{name} = {x!r:.200}"
        for i, part in enumerate(x):
            if not is_integer(part):
                yield from _describe_size(f"{name}[{i}]", part)
    elif is_integer(x):
        if abs(int(x)) >= _MIN_REPORTED_SIZE:
            yield f"{name} = {x}"
    elif is_integer(height := getattr(x, "height", 0)) and height >= _MIN_REPORTED_SIZE:
        yield f"{name} of height {height}"
    if _is_lod_tensor(x) and x.lod_level and x.shape[0] >= _MIN_REPORTED_SIZE:
        yield f"{name} of {x.shape[0]} rows"
    numbers = _numbers(x)
    if isinstance(numbers, np.ndarray):
        if max(numbers.shape, default=0) >= _MIN_REPORTED_SIZE:
            yield f"{name} of shape {numbers.shape}"
        elif numbers.dtype.kind in "iu" and numbers.size and numbers.max() >= _MIN_REPORTED_SIZE:
            yield f"{name} with {numbers.max()}"


def rows_of(x, name):
    """A sequence, given as an array or as a list, as an array of rows."""
    array = from_lists(x, name) if isinstance(x, list | tuple) else plain_array(x, name)
    if not array.ndim:
        raise LoDError(f"{name} is {x!r:.200}, which has no length; sequences are (length, *item)")
    return array


@needs_memory
def joined_rows(arrays, what):
    """The rows of several arrays in one; ``what`` names them in errors."""
    total_size(map(len, arrays), f"the rows of all {what}")
    try:
        return concatenate_exactly(arrays, what)
    except DTypeError:
        raise
    except (TypeError, OverflowError) as error:
        types = ", ".join(sorted({name_of_dtype(a.dtype) for a in arrays}))
        raise DTypeError(f"{what} of the types {types} have no type in common; convert all to one") from error
