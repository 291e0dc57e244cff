"""Arrays of bfloat16 and float16 as float32 and back, by compiled code on vectors."""

from __future__ import annotations

import functools

import numpy as np

from ..base.bfloat16 import is_bfloat16, round_to_bits, widen_bits

_FEW_NUMBERS = 1024  # NumPy converts as many in the time of a call
_BITS, _FLOAT32 = np.dtype(np.int16), np.dtype(np.float32)
_FLOAT16, _FLOAT16_BITS = np.dtype(np.float16), np.dtype(np.uint16)


@functools.cache
def _conversion():
    """Make the kernel that copies numbers to another type: int16 are the bits of bfloat16, uint16 of float16."""
    from ..jit import parallel_kernel, prange, simd

    lanes = 64

    @parallel_kernel
    def kernel(source, chunk, out):
        size = source.shape[1]
        for c in prange((size + chunk - 1) // chunk):
            first, last = c * chunk, min(size, (c + 1) * chunk)
            whole = last - (last - first) % lanes
            for i in range(first, whole, lanes):
                simd.store(out, 0, i, simd.load(source, 0, i, lanes))
            if whole < last:
                simd.store_first(out, 0, whole, simd.load_first(source, 0, whole, lanes, last - whole, 0), last - whole)

    return kernel


def _convert(source, out):
    """Copy the numbers of a C-contiguous array to another one of as many."""
    from ..jit import settings

    chunk = 64 * max(1, settings.chunk_rows)
    _conversion()(source.size, source.reshape(1, -1), chunk, out.reshape(1, -1))
    return out


def bits_of(array):
    """An array of bfloat16 as int16 over the same memory, as kernels that compute take it."""
    return array.view(_BITS)


def to_dtype(array, dtype):
    """An array in another type, either of which may be bfloat16; itself where it has that type."""
    if array.dtype == dtype:
        return array
    if is_bfloat16(dtype):
        return round_to(dtype, array)
    if is_bfloat16(array.dtype):
        return widen(array).astype(dtype, copy=False)
    if _converts_float16(array) and {array.dtype, dtype} == {_FLOAT16, _FLOAT32}:
        if dtype == _FLOAT32:
            return widen(array)
        return _convert(array, np.empty(array.shape, _FLOAT16_BITS)).view(_FLOAT16)
    return array.astype(dtype, copy=False)


def _converts_float16(array):
    """Whether compiled code converts numbers from or to float16, in a ninth of the time of NumPy: many, in C order."""
    return array.size >= _FEW_NUMBERS and array.flags.c_contiguous


def is_half(dtype):
    """Whether numbers of a type are computed in float32 and rounded: float16 of either byte order, and bfloat16."""
    return dtype.kind in "fV" and dtype.itemsize == 2 and (dtype.kind == "f" or is_bfloat16(dtype))


def is_floating(dtype):
    """Whether numbers of a type are floating, bfloat16 included, float8 of ml_dtypes excluded."""
    return (dtype.kind == "f" and dtype.itemsize > 1) or is_bfloat16(dtype)


def is_plain(dtype):
    """Whether numbers of a type are floats, integers or bool of NumPy: e5m2 of ml_dtypes has the kind of floats."""
    return dtype.kind in "fiub" and (dtype.kind != "f" or dtype.itemsize > 1)


def compute_dtype(dtype):
    """The type that numbers of a type are computed in: float32 for float16 and bfloat16, else that type."""
    return _FLOAT32 if is_half(dtype) else dtype


def widen(array):
    """An array of bfloat16 or float16 as a new one of float32, exactly."""
    if array.dtype.kind == "f":
        if not (_converts_float16(array) and array.dtype.isnative):
            return array.astype(_FLOAT32)
        return _convert(array.view(_FLOAT16_BITS), np.empty(array.shape, _FLOAT32))
    bits = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).view(_BITS)
    if bits.size < _FEW_NUMBERS:
        return widen_bits(bits).reshape(array.shape)
    return _convert(bits, np.empty(array.shape, np.float32))


def round_to(dtype, numbers):
    """Numbers rounded to a new array of a type that is bfloat16."""
    numbers = np.asarray(numbers)
    if is_bfloat16(numbers.dtype):
        return np.array(numbers).view(dtype)
    if numbers.size < _FEW_NUMBERS or numbers.dtype not in (np.float32, np.float64):
        return round_to_bits(numbers).view(dtype)
    return _convert(np.ascontiguousarray(numbers), np.empty(numbers.shape, _BITS)).view(dtype)
