"""CPU part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...jit import njit


@njit
def packed(offsets, rows):
    """Row at each step of each segment; -1 behind its end."""
    count = len(offsets) - 1
    for t in range(len(rows) // count):
        for s in range(count):
            row = offsets[s] + t
            rows[t * count + s] = row if row < offsets[s + 1] else -1


@njit
def unpacked(offsets, rows):
    """Place of each row in a time-major array."""
    count = len(offsets) - 1
    for s in range(count):
        for i in range(offsets[s], offsets[s + 1]):
            rows[i] = (i - offsets[s]) * count + s


@njit
def reversed_steps(offsets, rows):
    """Place of the row that comes to each step of each segment."""
    count = len(offsets) - 1
    for t in range(len(rows) // count):
        for s in range(count):
            length = offsets[s + 1] - offsets[s]
            rows[t * count + s] = (length - 1 - t if t < length else t) * count + s


def made(row_map, offsets, n):
    """A map of ``n`` rows."""
    rows = np.empty(n, np.int64)
    if n:
        row_map(offsets, rows)
    return rows
