"""CUDA part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from .primitives.row_kernels import segment_of


@elementwise
def _packed(i, offsets, count, rows):
    s = i % count
    row = vector.number(offsets, s) + i // count
    rows[i] = row if row < vector.number(offsets, s + 1) else -1


@elementwise
def _unpacked(i, offsets, count, rows):
    s = segment_of(offsets, count, i)
    rows[i] = (i - vector.number(offsets, s)) * count + s


@elementwise
def _reversed(i, offsets, count, rows):
    t, s = i // count, i % count
    length = vector.number(offsets, s + 1) - vector.number(offsets, s)
    rows[i] = (length - 1 - t if t < length else t) * count + s


def _map(row_map, offsets, n):
    return row_map.into(offsets.like((n,), np.int64), offsets, len(offsets) - 1)


def packed(offsets, steps):
    """Row at each step of each segment; -1 behind its end."""
    return _map(_packed, offsets, steps * (len(offsets) - 1))


def unpacked(offsets, n):
    """Place of each of ``n`` rows in a time-major array."""
    return _map(_unpacked, offsets, n)


def reversed_rows(offsets, steps):
    """Place of the row that comes to each step of each segment."""
    return _map(_reversed, offsets, steps * (len(offsets) - 1))
