"""CUDA part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from .primitives.row_kernels import segment_of


@elementwise
def _pack_rows(i, offsets, count, rows):
    s = i % count
    row = vector.number(offsets, s) + i // count
    rows[i] = row if row < vector.number(offsets, s + 1) else -1


@elementwise
def _unpack_rows(i, offsets, count, rows):
    s = segment_of(offsets, count, i)
    rows[i] = (i - vector.number(offsets, s)) * count + s


@elementwise
def _reverse_rows(i, offsets, count, rows):
    t, s = i // count, i % count
    length = vector.number(offsets, s + 1) - vector.number(offsets, s)
    rows[i] = (length - 1 - t if t < length else t) * count + s


def _map(row_map, offsets, n):
    return row_map.into(offsets.like((n,), np.int64), offsets, len(offsets) - 1)


def packed_rows(offsets, steps):
    """Row at each step of each segment; -1 behind its end."""
    return _map(_pack_rows, offsets, steps * (len(offsets) - 1))


def unpacked_rows(offsets, n):
    """Place of each of ``n`` rows in a time-major array."""
    return _map(_unpack_rows, offsets, n)


def reversed_rows(offsets, steps):
    """Place of the row that comes to each step of each segment."""
    return _map(_reverse_rows, offsets, steps * (len(offsets) - 1))
