"""float8, which NumPy lacks: the formats of tables in 8 bits a number, and their conversion by bits."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np


class Float8(NamedTuple):
    """Numbers of a sign, an exponent and a mantissa in a byte.

    Attributes
    ----------
    mantissa : int
        Bits of the mantissa.
    bias : int
        Of the exponent.
    largest : float
        The largest number.
    special : int
        The first byte above those of numbers, without a sign: infinity, where there is one, or NaN.
    """

    mantissa: int
    bias: int
    largest: float
    special: int


#: e4m3fn has a NaN, 0x7F, and no infinity; e5m2 are the upper halves of float16.
FLOAT8 = {
    "float8_e4m3fn": Float8(mantissa=3, bias=7, largest=448.0, special=0x7F),
    "float8_e5m2": Float8(mantissa=2, bias=15, largest=57344.0, special=0x7C),
}
NAN_BYTE = 0x7F
#: What to do with tables in float8 where numbers are computed with, other than to convert them.
FLOAT8_REMEDY = (
    "of a table lodkit.dequantize_rows(x), lodkit.quantized_lookup_table or lodkit.quantized_embedding_bag reads rows"
)


def float8_of(dtype: Any) -> str | None:
    """Return the name of a type of float8, of ml_dtypes or of PyTorch; None of any other."""
    name = str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")
    return name if name in FLOAT8 else None


def is_float8(dtype: Any) -> bool:
    """Return whether a type of NumPy is one of the formats of float8, of which ml_dtypes calls one floating."""
    return dtype.itemsize == 1 and dtype.kind in "fV" and float8_of(dtype) is not None


def float8_dtype(name: str) -> np.dtype[Any] | None:
    """Return the type of arrays of a format, of ml_dtypes; None without that package."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, name))


@functools.cache
def numbers_of_bytes(name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the 256 numbers of a format, in the order of their bytes."""
    form, sizes = FLOAT8[name], np.arange(128)
    exponent, mantissa = np.divmod(sizes, 2**form.mantissa)
    # The exponent 0 is that of 1, without the hidden bit.
    digits = np.where(exponent == 0, mantissa, mantissa + 2**form.mantissa)
    numbers = np.ldexp(digits.astype(np.float32), np.maximum(exponent, 1) - form.bias - form.mantissa)
    numbers[sizes >= form.special] = np.nan
    if form.special != NAN_BYTE:
        numbers[form.special] = np.inf
    numbers = np.concatenate([numbers, -numbers]).astype(np.float32)
    numbers.flags.writeable = False
    return numbers


def widen_bytes(words: Any, name: str) -> Any:
    """Return the float32 numbers of bytes of a format, which are exact."""
    return numbers_of_bytes(name)[words]


def round_to_bytes(numbers: Any, name: str) -> Any:
    """Return the bytes of the float8 nearest to float32 numbers, of two the even one.

    Beyond the largest number and half a step they are NaN in e4m3fn and infinite in e5m2, as in ml_dtypes.
    """
    form = FLOAT8[name]
    words = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    size, shift = words & np.uint32(0x7FFFFFFF), np.uint32(23 - form.mantissa)
    odd = size >> shift & np.uint32(1)
    half_less = np.uint32((1 << (22 - form.mantissa)) - 1)
    normal = ((size + half_less + odd) >> shift) - np.uint32((127 - form.bias) << form.mantissa)
    # The last bit of this power of two is that of the smallest float8.
    power = np.float32(2.0 ** (24 - form.bias - form.mantissa))
    with np.errstate(invalid="ignore"):
        tiny = (size.view(np.float32) + power).view(np.uint32) - power.view(np.uint32)
    smallest_normal = np.float32(2.0 ** (1 - form.bias)).view(np.uint32)
    found = np.where(size < smallest_normal, tiny, np.minimum(normal, np.uint32(form.special)))
    found = np.where(size > np.uint32(0x7F800000), np.uint32(NAN_BYTE), found)
    return (found | words >> np.uint32(24) & np.uint32(0x80)).astype(np.uint8).reshape(np.shape(numbers))
