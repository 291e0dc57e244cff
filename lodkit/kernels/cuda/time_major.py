"""CUDA part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from .primitives.row_kernels import segment_of


@cuda.jit
def packed(offsets, count, n, rows):
    """Row at each step of each segment; -1 behind its end."""
    i = cuda.grid(1)
    while i < n:
        s = i % count
        row = vector.number(offsets, s) + i // count
        rows[i] = row if row < vector.number(offsets, s + 1) else -1
        i += cuda.gridsize(1)


@cuda.jit
def unpacked(offsets, count, n, rows):
    """Place of each row in a time-major array."""
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, count, i)
        rows[i] = (i - vector.number(offsets, s)) * count + s
        i += cuda.gridsize(1)


@cuda.jit
def reversed_steps(offsets, count, n, rows):
    """Place of the row that comes to each step of each segment."""
    i = cuda.grid(1)
    while i < n:
        t, s = i // count, i % count
        length = vector.number(offsets, s + 1) - vector.number(offsets, s)
        rows[i] = (length - 1 - t if t < length else t) * count + s
        i += cuda.gridsize(1)


def made(row_map, offsets, n):
    """A map of ``n`` rows."""
    rows = offsets.like((n,), np.int64)
    launch(row_map, n, offsets, len(offsets) - 1, n, rows)
    return rows
