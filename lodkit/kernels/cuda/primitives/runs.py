"""The table of runs of equal ids: written for as many as there may be, then cut to what the host reads back at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays.cuda import View, copy_elements, elementwise, fill, slots, vector
from .offsets import LENGTH_BOUND, settings

# A table of runs is copied to its size when more memory than this would stay unused behind the runs.
MAX_SPARE_BYTES = 1 << 20


class Runs(NamedTuple):
    """Positions of each id.

    Attributes
    ----------
    rows : View of int64
        The different ids, ascending.
    offsets : View of int64
        One more than rows: where the positions of each start in ``order``.
    order : View of int32 or int64
        Positions, by id; of one id in ascending order.
    longest : int
        The most positions of an id, if more than ``offsets.settings.tile_rows``.
    """

    rows: View
    offsets: View
    order: View
    longest: int


def buffers_of_runs(like, n):
    """Views for the rows of ``n`` ids, with their number behind them, and for the offsets of their runs."""
    return like.like((n + 1,), np.int64), like.like((n + 1,), np.int64)


@elementwise
def _note(s, rows, offsets, n, tile, noted):
    """Note the number of runs, and the longest of those with more rows than a tile."""
    if s == 0:
        noted[0] = rows[n]
    if s < rows[n]:
        length = vector.number(offsets, s + 1) - vector.number(offsets, s)
        if length > tile:
            vector.atomic_first(noted, 1, LENGTH_BOUND - length)


def found_runs(rows, offsets, order):
    """The Runs in filled buffers. Synchronises, once."""
    n = order.size
    if not n:
        return Runs(rows.part(0, 0), fill(offsets, 0), order, 0)
    noted = slots(rows, 2)
    _note(n, rows, offsets, n, settings.tile_rows, noted.view)
    found, short = noted.read()
    rows, offsets = first_rows(found, rows), first_rows(found + 1, offsets)
    return Runs(rows, offsets, order, LENGTH_BOUND - short if short >= 0 else 0)


def first_rows(found, table):
    """The rows of a table that were found; a copy where those behind them would keep much more memory."""
    size = table.columns * table.dtype.itemsize
    part, behind = table.part(0, found), (len(table) - found) * size
    return copy_elements(part, part.like(part.shape)) if behind > max(MAX_SPARE_BYTES, found * size // 2) else part
