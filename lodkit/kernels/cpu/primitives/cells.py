"""Kernels over the cells of a matrix with a row per sequence, whose columns are numbered by ids.

A sequence has a row to itself, so sequences run in parallel.
"""

from __future__ import annotations

import numpy as np

from ....arrays import matrix
from ....jit import parallel_kernel, prange
from .sort import look_up

_UNKEPT = np.empty(0, bool)


def cells_of(offsets, columns, size):
    """Cell of each id, by its column of ``size``; -1 for column -1."""
    cells = np.empty(len(columns), np.int64)
    _number(len(columns), offsets, columns, size, cells)
    return cells


@parallel_kernel
def _number(offsets, columns, size, cells):
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            cells[i] = s * size + columns[i] if columns[i] >= 0 else -1


def find_columns(ids, mask):
    """Position of each id in the mask, -1 if absent."""
    order, columns = np.argsort(mask), np.empty(len(ids), np.int64)
    look_up(len(ids), ids, mask[order], order, -1, columns)
    return columns


def put_last(offsets, cells, values, out, presence=False):
    """``out[cells[i]] = values[i]``: the last of equal cells wins, -1 is skipped. Returns which have any, if asked."""
    seen = np.zeros(len(out), bool) if presence else _UNKEPT
    _put_last(values.size, offsets, cells, matrix(values), seen, matrix(out))
    return seen


@parallel_kernel
def _put_last(offsets, cells, values, seen, out):
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for d in range(out.shape[1] if cells[i] >= 0 else 0):
                out[cells[i], d] = values[i, d]
            if len(seen) and cells[i] >= 0:
                seen[cells[i]] = True


def find_last(offsets, cells, count):
    """Find the last id of each cell.

    Returns, by id, its cell if it is the last of that cell, else -1; and, by cell, whether it has ids.
    """
    seen, last = np.zeros(count, bool), np.empty(len(cells), np.int64)
    _find_last(len(cells), offsets, cells, seen, last)
    return last, seen


@parallel_kernel
def _find_last(offsets, cells, seen, last):
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
            last[i] = -1
            if cells[i] >= 0 and not seen[cells[i]]:
                last[i], seen[cells[i]] = cells[i], True


def absent_in(seen):
    """Cells without an id."""
    return np.flatnonzero(~seen)
