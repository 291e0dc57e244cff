"""CPU part of lodkit/ops/reduce_dims.py."""

from __future__ import annotations

import numpy as np

from ...jit import njit
from ...ops.reduce_dims import check_longest
from .conversions import lengths_to_offsets


@njit
def _positions(offsets, step, stride, positions):
    """Fill in the elements of each column: the first one at ``s * stride``, the next a ``step`` further."""
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            positions[i] = s * stride + (i - offsets[s]) * step


def positions(data, lengths, rows, step, stride):
    """Offsets of columns of given lengths, and the position of each of their elements."""
    offsets = lengths_to_offsets(lengths)
    check_longest(np.diff(offsets), rows)
    positions = np.empty(offsets[-1], np.int64)
    _positions(offsets, step, stride, positions)
    return offsets, positions


def even_offsets(data, segments, length):
    """Offsets of segments of one length."""
    return np.array([0, length]) if segments == 1 else np.arange(segments + 1) * length
