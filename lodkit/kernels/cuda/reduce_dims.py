"""CUDA part of lodkit/ops/reduce_dims.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from ...ops.reduce_dims import check_longest
from .conversions import from_lengths
from .primitives.offsets import cut, inspected
from .primitives.row_kernels import segment_of


@cuda.jit
def _positions(offsets, segments, n, step, stride, positions):
    """Fill in the elements of each column: the first one at ``s * stride``, the next a ``step`` further."""
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, segments, i)
        positions[i] = s * stride + (i - vector.number(offsets, s)) * step
        i += cuda.gridsize(1)


@cuda.jit
def _even_offsets(length, n, offsets):
    s = cuda.grid(1)
    while s < n:
        offsets[s] = s * length
        s += cuda.gridsize(1)


def even_offsets(data, segments, length):
    """Offsets of segments of one length."""
    offsets = data.like((segments + 1,), np.int64)
    launch(_even_offsets, segments + 1, length, segments + 1, offsets)
    return cut(offsets, inspected(offsets))


def positions(data, lengths, rows, step, stride):
    """Offsets of columns of given lengths, and the position of each of their elements."""
    offsets = from_lengths(lengths)
    check_longest(lengths.read(), rows)
    positions = data.like((offsets.rows,), np.int64)
    launch(_positions, offsets.rows, offsets.offsets, len(offsets), offsets.rows, step, stride, positions)
    return offsets, positions
