"""Positions and numbers of rows, on a GPU."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from .primitives.gather import positions_of
from .primitives.row_kernels import lower_bound


@elementwise
def _find(i, ids, rows, count, at):
    row, at[i] = vector.number(ids, i), -1
    place = lower_bound(rows, 0, count, row)
    if place < count and vector.number(rows, place) == row:
        at[i] = place


def find(ids, rows):
    """Position of each id among rows that ascend, -1 where it is not there."""
    at = ids.like((ids.size,), np.int64)
    return _find.into(at, ids, rows, len(rows))


@elementwise
def _mark_inside(i, numbers, start, stop, kept):
    kept[i] = 1 if start <= vector.number(numbers, i) < stop else 0


def find_between(numbers, start, stop):
    """Positions of the numbers in ``[start, stop)``. Synchronises with the device."""
    return positions_of(_mark_inside.into(numbers.like((numbers.size,), np.int64), numbers, start, stop))


@elementwise
def _shift(i, rows, by, out):
    out[i] = vector.number(rows, i) + by


def shift_rows(rows, by):
    """Row numbers plus ``by``."""
    return _shift.into(rows.like((rows.size,), np.int64), rows, by)
