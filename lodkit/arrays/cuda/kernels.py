"""Elementwise kernels: fill, copy, convert, add."""

from __future__ import annotations

import numpy as np

from ...jit import simd
from . import vector
from .launcher import cuda, launch


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
    """``arange(n)`` in int64, on the device of an array."""
    out = like.like((n,), np.int64)
    launch(_count, n, n, out)
    return out


def fill(out, number):
    """Fill ``out`` with a number."""
    number = out.dtype.type(number)
    launch(_fill, out.size, out, out.size, number.view(np.uint16) if out.dtype == np.float16 else number)
    return out


def copied(source, out):
    """Copy all elements, in order, rounded to the type of ``out``."""
    launch(_copy, source.size, source, source.size, out)
    return out


def convert(source, dtype, new=False):
    """Convert ``source``; itself if it has the dtype already, unless it must be ``new``."""
    dtype = np.dtype(dtype)
    return source if source.dtype == dtype and not new else copied(source, source.like(source.shape, dtype))


def add_to(total, other):
    """Add ``other`` to ``total``, in place."""
    launch(_add, total.size, total, other, total.size)
    return total
