"""CUDA part of lodkit/ops/reduce_dims.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, iota, vector
from ...ops.reduce_dims import check_longest
from .conversions import from_lengths
from .primitives.offsets import cut, inspect_offsets
from .primitives.row_kernels import segment_of


@elementwise
def _positions(i, offsets, segments, step, stride, positions):
    """Fill in the elements of each column: the first one at ``s * stride``, the next a ``step`` further."""
    s = segment_of(offsets, segments, i)
    positions[i] = s * stride + (i - vector.number(offsets, s)) * step


def even_offsets(data, segments, length):
    """Offsets of segments of one length."""
    offsets = iota(data, segments + 1, length)
    return cut(offsets, inspect_offsets(offsets))


def positions(data, lengths, rows, step, stride):
    """Offsets of columns of given lengths, and the position of each of their elements."""
    offsets = from_lengths(lengths)
    check_longest(lengths.read(), rows)
    positions = data.like((offsets.rows,), np.int64)
    return offsets, _positions.into(positions, offsets.offsets, len(offsets), step, stride)
