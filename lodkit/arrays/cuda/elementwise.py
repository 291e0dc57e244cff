"""What is done to every element of arrays alike: fill, copy, convert, add."""

from __future__ import annotations

import numpy as np

from ...jit import simd
from . import vector
from .launch import cuda, launch


@cuda.jit
def _fill(out, n, number):
    i = cuda.grid(1)
    while i < n:
        out[i] = number
        i += cuda.gridsize(1)


@cuda.jit
def _copy(source, n, out):
    i = cuda.grid(1)
    while i < n:
        vector.store(out, i, vector.load(source, i, 1))
        i += cuda.gridsize(1)


@cuda.jit
def _add(total, other, n):
    i = cuda.grid(1)
    while i < n:
        vector.store(total, i, simd.add(vector.load_written(total, i, 1), vector.load(other, i, 1)))
        i += cuda.gridsize(1)


@cuda.jit
def _count(n, out):
    i = cuda.grid(1)
    while i < n:
        out[i] = i
        i += cuda.gridsize(1)


def iota(like, n):
    """The numbers from 0 to ``n - 1``, int64, on the device of an array."""
    out = like.like((n,), np.int64)
    launch(_count, n, n, out)
    return out


def fill(out, number):
    """Put ``number`` into every element of ``out``."""
    number = out.dtype.type(number)
    launch(_fill, out.size, out, out.size, number.view(np.uint16) if out.dtype == np.float16 else number)
    return out


def copied(source, out):
    """Copy all elements, in order, rounded to the type of ``out``."""
    launch(_copy, source.size, source, source.size, out)
    return out


def convert(source, dtype, new=False):
    """``source`` in another type; itself where it has that type already, unless it must be ``new``."""
    dtype = np.dtype(dtype)
    return source if source.dtype == dtype and not new else copied(source, source.like(source.shape, dtype))


def add_to(total, other):
    """Add to every element of ``total``."""
    launch(_add, total.size, total, other, total.size)
    return total
