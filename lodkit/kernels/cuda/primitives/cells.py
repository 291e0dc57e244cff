"""Kernels over the cells of a matrix with a row per sequence, whose columns are numbered by ids.

The last of equal cells is found by an atomic minimum of the number of ids behind it.
"""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import elementwise, fill, vector
from .gather import put_rows
from .offsets import offsets_like
from .reduce import reduce_rows
from .row_kernels import lower_bound, segment_of


@elementwise
def _number(i, offsets, segments, columns, size, cells):
    column = vector.number(columns, i)
    inside = (column >= 0) & (column < size)
    cells[i] = segment_of(offsets, segments, i) * size + column if inside else -1


@elementwise
def _find(i, ids, mask, order, count, columns):
    row, columns[i] = vector.number(ids, i), -1
    at = lower_bound(mask, 0, count, row)
    if at < count and vector.number(mask, at) == row:
        columns[i] = vector.number(order, at)


@elementwise
def _count_behind(i, cells, n, count, behind):
    """Number of ids behind the last one of each cell; -1 for a cell without any."""
    cell = vector.number(cells, i)
    if 0 <= cell < count:
        vector.atomic_first(behind, cell, n - 1 - i)


@elementwise
def _choose(i, cells, behind, n, count, last):
    cell, last[i] = vector.number(cells, i), -1
    if 0 <= cell < count and vector.number(behind, cell) == n - 1 - i:
        last[i] = cell


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
    cells, segments = columns.like((columns.size,), np.int64), offsets_like(columns, offsets)
    return _number.into(cells, segments.offsets, len(segments), columns, size)


def find_columns(ids, mask):
    """Position of each id in the mask, -1 if absent."""
    order, columns = np.argsort(mask), ids.like((ids.size,), np.int64)
    return _find.into(columns, ids, ids.send(mask[order]), ids.send(order), len(mask))


def find_last(offsets, cells, count):
    """Find the last id of each cell.

    Returns, by id, its cell if it is the last of that cell, else -1; and, by cell, -1 for a cell without ids.
    """
    n, behind = cells.size, fill(cells.like((count,), np.int64), -1)
    _count_behind(n, cells, n, count, behind)
    return _choose.into(cells.like((n,), np.int64), cells, behind, n, count), behind


def put_last(offsets, cells, values, out, presence=False):
    """``out[cells[i]] = values[i]``: the last of equal cells wins, -1 is skipped. Returns which have any, if asked."""
    last, behind = find_last(offsets, cells, len(out))
    put_rows(last, values, out)
    return _tell.into(behind.like(behind.shape, bool), behind) if presence else None


def absent_in(behind):
    """Cells without an id, -1 for others."""
    return _absent.into(behind.like(behind.shape), behind)
