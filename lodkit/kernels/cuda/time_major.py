"""CUDA part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.launch import elementwise
from .primitives.row_kernels import segment_of


@elementwise
def packed(i, offsets, count, rows):
    """Row at each step of each segment; -1 behind its end."""
    s = i % count
    row = vector.number(offsets, s) + i // count
    rows[i] = row if row < vector.number(offsets, s + 1) else -1


@elementwise
def unpacked(i, offsets, count, rows):
    """Place of each row in a time-major array."""
    s = segment_of(offsets, count, i)
    rows[i] = (i - vector.number(offsets, s)) * count + s


@elementwise
def reversed_steps(i, offsets, count, rows):
    """Place of the row that comes to each step of each segment."""
    t, s = i // count, i % count
    length = vector.number(offsets, s + 1) - vector.number(offsets, s)
    rows[i] = (length - 1 - t if t < length else t) * count + s


def made(row_map, offsets, n):
    """A map of ``n`` rows."""
    rows = offsets.like((n,), np.int64)
    row_map(n, offsets, len(offsets) - 1, rows)
    return rows
