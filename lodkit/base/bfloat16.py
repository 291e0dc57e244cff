"""bfloat16, which NumPy lacks: its data types, and its conversion by bits."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

#: The type of arrays over the memory of tensors, which needs no package. NumPy does not compute with it.
BFLOAT16: np.dtype[Any] = np.dtype([("bfloat16", "V2")])


def is_bfloat16(dtype: Any) -> bool:
    """Return whether a data type of NumPy is bfloat16: ``BFLOAT16``, or that of ml_dtypes."""
    if getattr(dtype, "kind", "") != "V" or dtype.itemsize != 2:
        return False
    return dtype == BFLOAT16 or dtype.type is getattr(sys.modules.get("ml_dtypes"), "bfloat16", None)


@functools.cache
def bfloat16_dtype() -> np.dtype[Any]:
    """Return the type of arrays of bfloat16 that no input gives: of ml_dtypes where that is installed, or BFLOAT16."""
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        return BFLOAT16
    return np.dtype(bfloat16)


def dtype_named(name: Any) -> np.dtype[Any]:
    """Return the data type of a name, ``"bfloat16"`` included, or of what else ``np.dtype`` takes."""
    return bfloat16_dtype() if isinstance(name, str) and name == "bfloat16" else np.dtype(name)


def name_of_dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a data type, ``"bfloat16"`` included."""
    return "bfloat16" if is_bfloat16(dtype) else dtype.name


def to_readable(numbers: Any) -> Any:
    """Return numbers that NumPy prints and compares: those of ``BFLOAT16``, bits to NumPy, as float32."""
    return widen_bits(np.asarray(numbers)) if numbers.dtype.kind == "V" and numbers.dtype == BFLOAT16 else numbers


def widen_bits(bits: Any) -> Any:
    """Return the float32 numbers of the bits of bfloat16, which are exact."""
    return (bits.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_to_bits(numbers: Any) -> Any:
    """Return the bits of the bfloat16 nearest to numbers, of two the even one, as uint16; NaN stays NaN, and quiet.

    Wider numbers are rounded to float32 first.
    """
    with np.errstate(over="ignore"):
        words = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    high = words >> np.uint32(16)
    odd = high & np.uint32(1)
    is_nan = (words & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    # The sum wraps for NaN alone, which is not taken from it.
    rounded = (words + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    return np.where(is_nan, high | np.uint32(0x0040), rounded).astype(np.uint16).reshape(np.shape(numbers))
