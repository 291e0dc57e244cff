"""Arrays of text and of Python objects: no values of anything, and refused with what to do instead."""

from __future__ import annotations

import itertools
import numbers

import numpy as np

from ..errors import DTypeError
from .remedies import cast_to

OBJECTS = "OSTU"  # kinds of dtype
_LOOKED_AT = 100_000  # elements, for the message
_SHOWN_BITS = 256  # of an integer in the message; Python writes none of more than 4300 digits
_NUMBERS = (int, float, np.number, np.bool_)


def remedy_of(dtype):
    """What to do with values of a type that an operation does not take."""
    if dtype.kind in "STU":
        return "make ids of the words by lodkit.vocabulary(texts)"
    if dtype.kind == "c":
        return "pass np.abs(x), or the real parts, np.real(values)"
    if dtype.kind == "V":
        return "pass one field, x['name']"
    return cast_to(np.float64 if dtype.kind in "mM" else np.float32)


def id_remedy_of(dtype, name):
    """What to do with numbers that are no ids and no lengths."""
    if dtype.kind == "b":
        return f"pass np.flatnonzero({name}), the places of True, or np.asarray({name}, np.int64), ones and zeros"
    if dtype.kind in "mM":
        return f"pass np.asarray({name}).astype(np.int64)"
    return cast_to(np.int64, name) if dtype.kind in "fu" else remedy_of(dtype)


def _place(*index):
    return f"at [{', '.join(map(str, index))}]"


def refuse_objects(array, name, given=None, place=_place):
    """Return ``array``; DTypeError that says what to do if it holds text or Python objects.

    ``given`` are the lists that it was made of: NumPy makes text of numbers beside text. ``place`` is a function that
    names the place of an element by its indices.
    """
    if array.dtype.kind in OBJECTS:
        raise objects_error(_as_given(array, given), name, place, listed=given is not None)
    return array


def _as_given(array, given):
    if given is None or array.dtype.kind not in "STU":
        return array
    objects = np.asarray(given, object)
    return objects if objects.shape == array.shape else array


def objects_error(array, name, place=_place, whole=False, listed=False):
    """The error for an array of text or objects: it names the first element that is no number; ``whole``: no integer.

    ``listed``: it was made of lists, which have no ``astype``.

    Of those that it looks at: an array of stride 0 has any number of elements.
    """
    odd = [(i, x) for i, x in enumerate(itertools.islice(array.flat, _LOOKED_AT)) if not _is_plain(x)][:1]
    if not odd:
        if listed:
            kind = next((type(x).__name__ for x in array.flat if not isinstance(x, _NUMBERS)), "object")
            return DTypeError(
                f"{name} holds numbers of type {kind}; convert each by {'int' if whole else 'float'}(...)"
            )
        return DTypeError(f"{name} has dtype {array.dtype}; convert its numbers by {name}.astype(...)")
    (position, found), at = odd[0], ""
    if array.size > 1:
        at = " " + place(*map(int, np.unravel_index(position, array.shape)))
    if isinstance(found, str | bytes):
        return DTypeError(
            f"{name} holds text ({str(found)[:20]!r}){at}; make ids: vocab = lodkit.vocabulary(texts), vocab(texts)"
        )
    if found is None or type(found).__name__ in ("NAType", "NaTType"):
        return DTypeError(f"{name} holds {found}{at}, a missing value: drop it, or fill it with a number")
    if isinstance(found, list | tuple | np.ndarray):
        return DTypeError(f"{name} holds lists{at}: make a LoDTensor of nested lists by LoDTensor.from_nested({name})")
    if isinstance(found, numbers.Real):
        remedy = "pass smaller integers" + " or floats" * (not whole)
        shown = found
        if isinstance(found, int) and found.bit_length() > _SHOWN_BITS:
            shown = f"an integer of {found.bit_length()} bits"
        return DTypeError(f"{name} holds {shown}{at}, which 64 bits do not hold; {remedy}")
    return DTypeError(f"{name} holds Python objects ({type(found).__name__}){at}; pass numbers")


def _is_plain(x):
    return isinstance(x, numbers.Real) and not abs(x) >= 1 << 64
