"""Elementwise kernels: fill, copy, convert, add."""

from __future__ import annotations

import numpy as np

from ...base.bfloat16 import BFLOAT16, is_bfloat16, round_to_bits
from ...jit import simd
from ..bfloat16 import is_half
from ..number_types import VALUE_TYPES
from ..numpy_arrays import upcast
from . import vector
from .launcher import cuda, elementwise, launch


@elementwise
def _fill(i, number, out):
    out[i] = number


@cuda.jit
def _copy(source, n, out):
    i = cuda.grid(1)
    while i < n:
        vector.store(out, i, vector.load(source, i, 1))
        i += cuda.gridsize(1)


@elementwise
def _add(i, other, total):
    vector.store(total, i, simd.add(vector.load_written(total, i, 1), vector.load(other, i, 1)))


@elementwise
def _count(i, step, out):
    out[i] = i * step


def iota(like, n, step=1):
    """``arange(n) * step`` in int64, on the device of an array."""
    return _count.into(like.like((n,), np.int64), step)


def fill(out, number):
    """Fill ``out`` with a number."""
    if out.dtype == BFLOAT16:
        return _fill.into(out, round_to_bits(np.float32(upcast(np.asarray(number)))).view(np.int16)[()])
    number = out.dtype.type(number)
    return _fill.into(out, number.view(np.uint16) if out.dtype == np.float16 else number)


@elementwise
def _copy_integers(i, source, out):
    out[i] = source[i]


@elementwise
def _copy_flags(i, source, out):
    out[i] = 1 if source[i] else 0


@elementwise
def _add_number(i, source, number, out):
    out[i] = source[i] + number


def add_number(x, number):
    """New array of int64, ``x + number`` modulo 2**64."""
    return _add_number.into(x.like(x.shape), x, np.int64(number))


def copy_elements(source, out):
    """Copy all elements, in order, rounded to the type of ``out``."""
    if source.dtype == out.dtype:
        words = source.as_words()
        launch(_copy, words.size, words, words.size, out.as_words())
    elif {source.dtype, out.dtype} <= VALUE_TYPES | {BFLOAT16}:
        launch(_copy, source.size, source, source.size, out)
    elif is_half(source.dtype) or is_half(out.dtype):
        copy_elements(convert(source, np.float32), out)
    else:
        # Not vectors, which would take uint16 for the bits of float16.
        (_copy_flags if source.dtype.kind == "b" else _copy_integers)(source.size, source, out)
    return out


def convert(source, dtype, new=False):
    """Convert ``source``; itself if it has the dtype already, unless it must be ``new``."""
    dtype = BFLOAT16 if is_bfloat16(np.dtype(dtype)) else np.dtype(dtype)
    return source if source.dtype == dtype and not new else copy_elements(source, source.like(source.shape, dtype))


def add_to(total, other):
    """Add ``other`` to ``total``, in place."""
    return _add.into(total, other)
