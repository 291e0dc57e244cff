"""The array API that libraries share, for operators that are the array library's own routines."""

from __future__ import annotations

import numpy as np

from ...arrays import cast, dtype_of, is_array

_HALF = np.dtype(np.float16)


def namespace(x):
    """The array API of the library of an array."""
    if isinstance(x, np.ndarray):
        return np
    from ...arrays.cuda import library_of

    return library_of(x).namespace()


def upcast_half(x):
    """float16 as float32, so that what is computed is rounded once; others as they are."""
    x = cast(x, np.float32) if dtype_of(x) == _HALF else x
    return x if isinstance(x, np.ndarray) else namespace(x).asarray(x)


def round_to(x, dtype):
    """A result in the type of the operator; NumPy's numbers of no dimension as arrays again."""
    x = x if is_array(x) else np.asarray(x)
    return x if dtype_of(x) == dtype else cast(x, dtype)


#: Activations of gates, and their slopes from their results.
_FUNCTIONS = {
    "identity": lambda xp, x: x,
    "relu": lambda xp, x: xp.where(x < 0, xp.zeros_like(x), x),
    "sigmoid": lambda xp, x: 1 / (1 + xp.exp(-x)),
    "tanh": lambda xp, x: xp.tanh(x),
}
_SLOPES = {
    "identity": lambda xp, y: xp.ones_like(y),
    "relu": lambda xp, y: xp.astype(y > 0, y.dtype),
    "sigmoid": lambda xp, y: y * (1 - y),
    "tanh": lambda xp, y: 1 - y * y,
}


def activate(xp, name, x):
    return _FUNCTIONS[name](xp, x)


def slope(xp, name, y):
    """The derivative of an activation, from its result."""
    return _SLOPES[name](xp, y)
