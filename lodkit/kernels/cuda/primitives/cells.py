"""Kernels over the cells of a matrix with a row per sequence, whose columns are numbered by ids.

The last of equal cells is found by an atomic minimum of the number of ids behind it.
"""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import cuda, elementwise, fill, launch, vector
from .gather import put_rows
from .offsets import offsets_like
from .reduce import reduce_rows
from .row_kernels import segment_of


@elementwise
def _number(i, offsets, segments, columns, size, cells):
    column = vector.number(columns, i)
    inside = (column >= 0) & (column < size)
    cells[i] = segment_of(offsets, segments, i) * size + column if inside else -1


@elementwise
def _find(i, ids, mask, order, count, columns):
    row, low, high = vector.number(ids, i), 0, count
    while low < high:
        middle = (low + high) >> 1
        if vector.number(mask, middle) < row:
            low = middle + 1
        else:
            high = middle
    columns[i] = -1
    if low < count and vector.number(mask, low) == row:
        columns[i] = vector.number(order, low)


@cuda.jit
def _count_behind(cells, n, behind):
    """Number of ids behind the last one of each cell; -1 for a cell without any."""
    i = cuda.grid(1)
    while i < n:
        if vector.number(cells, i) >= 0:
            vector.atomic_first(behind, vector.number(cells, i), n - 1 - i)
        i += cuda.gridsize(1)


@cuda.jit
def _choose(cells, behind, n, last):
    i = cuda.grid(1)
    while i < n:
        cell, last[i] = vector.number(cells, i), -1
        if cell >= 0 and vector.number(behind, cell) == n - 1 - i:
            last[i] = cell
        i += cuda.gridsize(1)


@elementwise
def _tell(i, behind, seen):
    seen[i] = 1 if vector.number(behind, i) >= 0 else 0


@elementwise
def _absent(i, behind, cells):
    cells[i] = -1 if vector.number(behind, i) >= 0 else i


def largest_id(ids):
    """The largest of ids, -1 where there are none. Synchronises with the device."""
    if not ids.size:
        return -1
    out = ids.like((1,))
    reduce_rows("max", ids, None, None, None, offsets_like(ids, np.array([0, ids.size])), 0, out)
    return int(out.read()[0])


def cells_of(offsets, columns, size):
    """Cell of each id, by its column of ``size``; -1 for a column outside."""
    cells = columns.like((columns.size,), np.int64)
    segments = offsets_like(columns, offsets)
    _number(cells.size, segments.offsets, len(segments), columns, size, cells)
    return cells


def find_columns(ids, mask):
    """Position of each id in the mask, -1 if absent."""
    order, columns = np.argsort(mask), ids.like((ids.size,), np.int64)
    _find(ids.size, ids, ids.send(mask[order]), ids.send(order), len(mask), columns)
    return columns


def find_last(offsets, cells, count):
    """Cell of each id that is the last of its cell, -1 for others; and, by cell, -1 for cells without any."""
    behind, last = fill(cells.like((count,)), -1), cells.like((cells.size,))
    launch(_count_behind, cells.size, cells, cells.size, behind)
    launch(_choose, cells.size, cells, behind, cells.size, last)
    return last, behind


def put_last(offsets, cells, values, out, presence=False):
    """``out[cells[i]] = values[i]``: the last of equal cells wins, -1 is skipped. Returns which have any, if asked."""
    last, behind = find_last(offsets, cells, len(out))
    put_rows(last, values, out)
    if not presence:
        return None
    seen = behind.like(behind.shape, bool)
    _tell(behind.size, behind, seen)
    return seen


def absent_in(behind):
    """Cells without an id, -1 for others."""
    cells = behind.like(behind.shape)
    _absent(behind.size, behind, cells)
    return cells
