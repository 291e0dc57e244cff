"""CPU part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...jit import njit


@njit
def _packed(offsets, steps, rows):
    count = len(offsets) - 1
    for t in range(steps):
        for s in range(count):
            row = offsets[s] + t
            rows[t * count + s] = row if row < offsets[s + 1] else -1


@njit
def _unpacked(offsets, rows):
    count = len(offsets) - 1
    for s in range(count):
        for i in range(offsets[s], offsets[s + 1]):
            rows[i] = (i - offsets[s]) * count + s


@njit
def _reversed(offsets, steps, rows):
    count = len(offsets) - 1
    for t in range(steps):
        for s in range(count):
            length = offsets[s + 1] - offsets[s]
            rows[t * count + s] = (length - 1 - t if t < length else t) * count + s


def packed(offsets, steps):
    """Row at each step of each segment; -1 behind its end."""
    rows = np.empty(steps * (len(offsets) - 1), np.int64)
    _packed(offsets, steps, rows)
    return rows


def unpacked(offsets, n):
    """Place of each of ``n`` rows in a time-major array."""
    rows = np.empty(n, np.int64)
    _unpacked(offsets, rows)
    return rows


def reversed_rows(offsets, steps):
    """Place of the row that comes to each step of each segment."""
    rows = np.empty(steps * (len(offsets) - 1), np.int64)
    _reversed(offsets, steps, rows)
    return rows
