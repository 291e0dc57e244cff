"""Kernels over the cells of a matrix that has a row for every sequence, and of each row the columns of its ids.

Of the ids of one cell the last one is found by an atomic minimum of how many ids come behind it.
"""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import vector
from ....arrays.cuda.elementwise import fill
from ....arrays.cuda.ids import checked_ids
from ....arrays.cuda.launch import cuda, launch
from ....arrays.cuda.memory import view
from ....ops.shared.columns import count_of, outside
from .offsets import offsets_like
from .reduce import reduce_rows
from .row_kernels import segment_of


@cuda.jit
def _number(offsets, segments, columns, size, n, cells):
    """The cell of each id; -1 where its column is outside."""
    i = cuda.grid(1)
    while i < n:
        column = vector.number(columns, i)
        inside = (column >= 0) & (column < size)
        cells[i] = segment_of(offsets, segments, i) * size + column if inside else -1
        i += cuda.gridsize(1)


@cuda.jit
def _find(ids, n, mask, order, count, columns):
    """Where in the unsorted mask each id is, -1 where it is not; ``mask`` is the sorted one."""
    i = cuda.grid(1)
    while i < n:
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
        i += cuda.gridsize(1)


@cuda.jit
def _count_behind(cells, n, behind):
    """How many ids come behind the last one of each cell; -1 for a cell without any."""
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


@cuda.jit
def _tell(behind, n, seen):
    i = cuda.grid(1)
    while i < n:
        seen[i] = 1 if vector.number(behind, i) >= 0 else 0
        i += cuda.gridsize(1)


@cuda.jit
def _absent(behind, n, cells):
    i = cuda.grid(1)
    while i < n:
        cells[i] = -1 if vector.number(behind, i) >= 0 else i
        i += cuda.gridsize(1)


def checked_columns(ids, given, name, what):
    """The View of ids, each inside the bound, and the bound: the one given, else the largest id + 1. Waits."""
    ids = view(ids)
    bound = count_of(given, largest(ids) if given is None else -1, what)
    return checked_ids(ids, bound, name, lambda numbers, at: outside(numbers, at, name, bound, what)), bound


def largest(ids):
    """The largest of ids, -1 where there are none. Waits for the device."""
    if not ids.size:
        return -1
    out = ids.like((1,))
    reduce_rows("max", ids, None, None, None, offsets_like(ids, np.array([0, ids.size])), 0, out)
    return int(out.read()[0])


def cells_of(offsets, columns, size):
    """The cell of each id, by its column of ``size``; -1 where the column is outside."""
    cells = columns.like((columns.size,), np.int64)
    segments = offsets_like(columns, offsets)
    launch(_number, cells.size, segments.offsets, len(segments), columns, size, cells.size, cells)
    return cells


def find_columns(ids, mask):
    """Where in the mask each id is, -1 where it is not."""
    order, columns = np.argsort(mask), ids.like((ids.size,), np.int64)
    launch(_find, ids.size, ids, ids.size, ids.send(mask[order]), ids.send(order), len(mask), columns)
    return columns


def find_last(cells, count):
    """Of each id its cell, where none behind has the same, else -1; and what tells which of all cells have any."""
    behind, last = fill(cells.like((count,)), -1), cells.like((cells.size,))
    launch(_count_behind, cells.size, cells, cells.size, behind)
    launch(_choose, cells.size, cells, behind, cells.size, last)
    return last, behind


def seen_in(behind, shape):
    """Which cells have an id: bool."""
    seen = behind.like(shape, bool)
    launch(_tell, behind.size, behind, behind.size, seen)
    return seen


def absent_in(behind):
    """The cells that have no id, -1 for the others."""
    cells = behind.like(behind.shape)
    launch(_absent, behind.size, behind, behind.size, cells)
    return cells
