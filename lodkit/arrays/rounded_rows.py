"""Rows of a matrix of halves beside the same rows in float32: rounded from these, or compared with them."""

from __future__ import annotations

import functools

import numpy as np

from .bfloat16 import bits_of, to_dtype
from .numpy_arrays import matrix

_LANES = 64
_ROWS_AHEAD = 8


@functools.cache
def _round_kernel():
    """Make the kernel of ``halves[rows] = numbers[rows]``, rounded."""
    from ..jit import parallel_kernel, prange, simd

    lanes, ahead = _LANES, _ROWS_AHEAD

    @parallel_kernel
    def kernel(numbers, rows, chunk, halves):
        columns = halves.shape[1]
        whole = columns - columns % lanes
        for c in prange((len(rows) + chunk - 1) // chunk):
            for i in range(c * chunk, min(len(rows), (c + 1) * chunk)):
                row, later = rows[i], rows[min(i + ahead, len(rows) - 1)]
                for j in range(0, whole, lanes):
                    simd.prefetch_lanes(numbers, later, j, lanes, True, 2)
                    simd.prefetch_lanes(halves, later, j, lanes, True, 2)
                    simd.store(halves, row, j, simd.load(numbers, row, j, lanes))
                if whole < columns:
                    last = simd.load_first(numbers, row, whole, lanes, columns - whole, 0)
                    simd.store_first(halves, row, whole, last, columns - whole)

    return kernel


@functools.cache
def _compare_kernel():
    """Make the kernel that finds rows of halves that are not what the rows in float32 round to."""
    from ..jit import jitable, parallel_kernel, prange, simd

    lanes, ahead = _LANES, _ROWS_AHEAD

    @jitable(inline=True)
    def differs(x, y):
        # The difference of unequal numbers is not 0; of NaN it is NaN.
        apart = simd.lane(simd.reduce(simd.maximum, simd.maximum(simd.sub(x, y), simd.sub(y, x))), 0)
        return not apart <= 0

    @parallel_kernel
    def kernel(numbers, rows, chunk, halves, found):
        columns = halves.shape[1]
        whole = columns - columns % lanes
        for c in prange((len(rows) + chunk - 1) // chunk):
            rounded = np.empty((1, lanes), halves.dtype)
            for i in range(c * chunk, min(len(rows), (c + 1) * chunk)):
                row, later, apart = rows[i], rows[min(i + ahead, len(rows) - 1)], False
                for j in range(0, whole, lanes):
                    simd.prefetch_lanes(numbers, later, j, lanes, True, 2)
                    simd.prefetch_lanes(halves, later, j, lanes, True, 2)
                    simd.store(rounded, 0, 0, simd.load(numbers, row, j, lanes))
                    apart |= differs(simd.load(rounded, 0, 0, lanes), simd.load(halves, row, j, lanes))
                if whole < columns:
                    rest = columns - whole
                    simd.store(rounded, 0, 0, simd.load_first(numbers, row, whole, lanes, rest, 0))
                    last = simd.load_first(halves, row, whole, lanes, rest, 0)
                    apart |= differs(simd.load(rounded, 0, 0, lanes), last)
                found[i] = apart

    return kernel


def _launch(kernel, numbers, rows, halves, *more):
    from ..jit import settings

    if rows.size and halves.size:
        kernel(rows.size * halves.shape[1], numbers, rows, settings.chunk_rows, halves, *more)


def round_rows(numbers, rows, halves):
    """``halves[rows] = numbers[rows]``, rounded to nearest, in place; of all rows for None."""
    if rows is None:
        target = halves if halves.dtype.kind == "f" else bits_of(halves)
        target[...] = to_dtype(numbers, halves.dtype).view(target.dtype)
    else:
        _launch(_round_kernel(), matrix(numbers), rows, matrix(halves))


def take_changed_rows(halves, rows, numbers):
    """Give ``numbers``, in float32, what ``halves`` hold where these are not what the former round to.

    In the listed rows, or in all for None. Bits decide, but for the sign of a zero beside others.
    """
    if rows is not None:
        found = np.zeros(len(rows), np.bool_)
        _launch(_compare_kernel(), matrix(numbers), rows, matrix(halves), found)
        rows = rows[found]
        if not len(rows):
            return
    at = ... if rows is None else rows
    given, kept = halves[at], numbers[at]
    changed = to_dtype(kept, halves.dtype).view(np.int16) != given.view(np.int16)
    if changed.any():
        kept[changed] = to_dtype(given[changed], kept.dtype)
        if rows is not None:
            numbers[rows] = kept
