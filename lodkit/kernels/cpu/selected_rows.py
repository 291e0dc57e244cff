"""Positions and numbers of rows, on the CPU."""

from __future__ import annotations

import numpy as np

from .primitives.sort import look_up


def find(ids, rows):
    """Position of each id among rows that ascend, -1 where it is not there."""
    at = np.empty(len(ids), np.int64)
    look_up(len(ids), ids, rows, np.arange(len(rows)), -1, at)
    return at


def find_between(numbers, start, stop):
    """Positions of the numbers in ``[start, stop)``."""
    return np.flatnonzero((numbers >= start) & (numbers < stop))


def shift_rows(rows, by):
    """Row numbers plus ``by``."""
    return rows + by
