"""Arrays of text and of Python objects: no values of anything, and refused with what to do instead."""

from __future__ import annotations

import datetime
import itertools
import numbers

import numpy as np

from ..base.bfloat16 import BFLOAT16, is_bfloat16
from ..base.errors import DTypeError
from ..base.float8 import FLOAT8_REMEDY, float8_of, is_float8
from .remedies import TEXT, cast_to, kind_of_numbers

OBJECTS = "OSTU"  # kinds of dtype
#: Types of numbers in lists: a list of these alone holds no arrays, tensors or objects.
NUMBERS = frozenset((int, float, bool, np.float32, np.float64, np.int32, np.int64))
_LOOKED_AT = 100_000  # elements, for the message
_SHOWN_BITS = 256  # of an integer in the message; Python writes none of more than 4300 digits
_ANY_NUMBER = (int, float, np.number, np.bool_)


def remedy_of(dtype, floating=False):
    """Say what to do with values of a type that an operation does not take; ``floating``: it takes no integers.

    Integers become int64 where that is taken, and else floats that hold 32 bits of them, which float32 does not.
    """
    kind, short = kind_of_numbers(dtype), dtype.itemsize <= 2
    if is_bfloat16(dtype):
        return "convert with lodkit.cast(x, dtype='float32')"
    if float8_of(dtype):
        return f"convert with .astype(np.float32); {FLOAT8_REMEDY}"
    if kind in TEXT:
        # Past 2**53, floats are not the whole numbers that a text has.
        others = "of others with np.asarray(x, np.float64)"
        whole = f"convert text of whole numbers with np.asarray(x, np.int64), {others}"
        convert = cast_to(np.float64, of=dtype) if floating else whole
        return f"{convert}, or make ids of words: lodkit.vocabulary(texts)(texts)"
    if floating or kind in "fcV":
        return cast_to(np.float32 if short else np.float64, of=dtype)
    if kind == "O":
        return "convert integers with .astype(np.int64), other numbers with .astype(np.float64)"
    rounded = "; larger numbers with .astype(np.float64), which rounds them" if dtype == np.uint64 else ""
    return cast_to(np.int64, of=dtype) + rounded


def id_remedy_of(dtype, name):
    """Say what to do with numbers that are no ids and no lengths."""
    if dtype.kind == "b":
        return f"{cast_to(np.int64, name)}, ones and zeros; the places of True are np.flatnonzero(...)"
    if dtype.kind in TEXT:
        return f"make ids of words: lodkit.vocabulary(texts)(texts); {cast_to(np.int64, name, dtype)}"
    return cast_to(np.int64, name, dtype)


def refuse_bits(name, x):
    """Refuse numbers of ``BFLOAT16`` where NumPy would have to compute with them; ``name`` is the operation."""
    if isinstance(x, np.ndarray | np.generic) and x.dtype == BFLOAT16:
        raise DTypeError(
            f"{name}: NumPy does not compute with bfloat16 by itself; convert with lodkit.cast(x, dtype='float32'), or "
            "install ml_dtypes: pip install 'lodkit[bfloat16]'"
        )


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


def refuse_no_numbers(array, name):
    """Return ``array``; DTypeError that says what to do if it holds text, Python objects or records of fields."""
    if array.dtype.kind == "V" or is_float8(array.dtype):
        what = "records" if array.dtype.names else "numbers"
        raise DTypeError(f"{name} holds {what} of type {array.dtype}; {remedy_of(array.dtype)}")
    return refuse_objects(array, name)


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
            kind = next((type(x).__name__ for x in array.flat if not isinstance(x, _ANY_NUMBER)), "object")
            return DTypeError(
                f"{name} holds numbers of type {kind}; convert each by {'int' if whole else 'float'}(...)"
            )
        integers = whole or all(isinstance(x, numbers.Integral) for x in itertools.islice(array.flat, _LOOKED_AT))
        remedy = cast_to(np.int64 if integers else np.float64, name)
        return DTypeError(f"{name} has dtype {array.dtype}; {remedy}")
    (position, found), at = odd[0], ""
    if array.size > 1:
        at = " " + place(*map(int, np.unravel_index(position, array.shape)))
    if isinstance(found, str | bytes):
        remedy = "make ids: vocab = lodkit.vocabulary(texts), vocab(texts)"
        if _is_text_of_number(found):
            remedy = cast_to(np.int64 if whole else np.float64, name, np.dtype(str))
        return DTypeError(f"{name} holds text ({str(found)[:20]!r}){at}; {remedy}")
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
    remedy = "pass numbers"
    if isinstance(found, datetime.date | datetime.timedelta):
        kind = "timedelta64" if isinstance(found, datetime.timedelta) else "datetime64"
        remedy += f" or times of NumPy: np.asarray({name}, '{kind}[us]')"
    return DTypeError(f"{name} holds Python objects ({type(found).__name__}){at}; {remedy}")


def _is_text_of_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_plain(x):
    return isinstance(x, numbers.Real) and not abs(x) >= 1 << 64  # type: ignore[operator]
