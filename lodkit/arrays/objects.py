"""Arrays of text and of Python objects: no values of anything, and refused with what to do instead."""

from __future__ import annotations

import itertools
import numbers

import numpy as np

from ..errors import DTypeError

OBJECTS = "OSTU"  # kinds of dtype
_LOOKED_AT = 100_000  # elements, for the message


def remedy_of(dtype):
    """What to do with an array of a type that an operation does not take."""
    return "make ids of the words by lodkit.vocabulary(texts)" if dtype.kind in "STU" else "convert with .astype(...)"


def refuse_objects(array, name):
    """Return ``array``; DTypeError that says what to do if it holds text or Python objects."""
    if array.dtype.kind in OBJECTS:
        raise objects_error(array, name)
    return array


def objects_error(array, name):
    """The error for an array of text or objects: it names the first element that is no number.

    Of those that it looks at: an array of stride 0 has any number of elements.
    """
    odd = [x for x in itertools.islice(array.flat, _LOOKED_AT) if not _is_plain(x)][:1]
    if not odd:
        return DTypeError(f"{name} has dtype {array.dtype}; convert its numbers by {name}.astype(...)")
    found = odd[0]
    if isinstance(found, str | bytes):
        return DTypeError(
            f"{name} holds text ({str(found)[:20]!r}); make ids: vocab = lodkit.vocabulary(texts), vocab(texts)"
        )
    if found is None or type(found).__name__ in ("NAType", "NaTType"):
        return DTypeError(f"{name} holds {found}, a missing value: drop it, or fill it with a number")
    if isinstance(found, list | tuple | np.ndarray):
        return DTypeError(f"{name} holds lists: make a LoDTensor of nested lists by LoDTensor.from_nested({name})")
    if isinstance(found, numbers.Real):
        return DTypeError(f"{name} holds {found}, which 64 bits do not hold; pass floats")
    return DTypeError(f"{name} holds Python objects ({type(found).__name__}); pass numbers")


def _is_plain(x):
    return isinstance(x, numbers.Real) and not abs(x) >= 1 << 64
