"""The table of runs of equal ids: written for as many as there may be, then cut to what the host reads back at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....arrays.cuda import View, copied, device, elementwise, fill, vector
from .offsets import LONG, settings

LARGE = 1 << 16  # ids, from which memory for as many runs is given back where there are less than half as many


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
    """Views for the rows of ``n`` ids, with two numbers behind them, and for the offsets of their runs."""
    return like.like((n + 2,), np.int64), like.like((n + 1,), np.int64)


@device
def note_count(rows, n, count):
    """Note the number of runs behind the rows, and that no long one has been seen."""
    rows[n], rows[n + 1] = count, -1


@elementwise
def _longest(s, offsets, n, tile, rows):
    if s < rows[n]:
        length = vector.number(offsets, s + 1) - vector.number(offsets, s)
        if length > tile:
            vector.atomic_first(rows, n + 1, LONG - length)


def found_runs(rows, offsets, order):
    """The Runs in filled buffers. Synchronises, once."""
    n, tile, found, short = order.size, settings.tile_rows, 0, -1
    if n > tile:
        _longest(n, offsets, n, tile, rows)
    if n:
        found, short = rows.part(n, n + 2).numbers()
    else:
        fill(offsets, 0)
    rows, offsets = first_rows(found, n, rows), first_rows(found + 1, n, offsets)
    return Runs(rows, offsets, order, LONG - short if short >= 0 else 0)


def count_of(rows, n):
    """The number of runs behind the rows of a table of ``n`` ids. Synchronises with the device."""
    return rows.part(n, n + 1).number() if n else 0


def first_rows(found, n, table):
    """The rows that were found of memory for ``n``: a copy where many ids have less than half as many runs."""
    part = table.part(0, found)
    return copied(part, part.like(part.shape)) if n > LARGE and 2 * found < n else part
