"""CUDA kernels of lodkit/ops/segmentation.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import elementwise, vector
from ...ops import segmentation as ops
from .conversions import from_ids, from_lengths, integers
from .primitives.offsets import find_facts
from .primitives.row_kernels import segment_of


@elementwise
def _pair(s, offsets, ranges):
    start = vector.number(offsets, s)
    ranges[2 * s], ranges[2 * s + 1] = start, vector.number(offsets, s + 1) - start


@elementwise
def _count(i, offsets, segments, positions):
    positions[i] = i - vector.number(offsets, segment_of(offsets, segments, i))


@elementwise
def _weigh(i, offsets, segments, power, weights):
    s = segment_of(offsets, segments, i)
    length = vector.number(offsets, s + 1) - vector.number(offsets, s)
    weights[i] = math.pow(float(length), -power)


@elementwise
def _compare(i, lengths, found):
    """Note the position of the first length unlike ``lengths[0]``, and ``lengths[0]``."""
    if vector.number(lengths, i) != vector.number(lengths, 0):
        vector.atomic_first(found, 0, i)
    if i == 0:
        found[1] = vector.number(lengths, 0)


def _ranges(offsets):
    ranges = offsets.offsets.like((len(offsets), 2), np.int64)
    _pair(len(offsets), offsets.offsets, ranges)
    return ranges.array


def _rows(kernel, offsets, *numbers, dtype=np.int64):
    """One element per row, from a kernel that searches for its segment."""
    out = offsets.offsets.like((offsets.rows,), dtype)
    return kernel.into(out, offsets.offsets, len(offsets), *numbers).array


@ops.lengths_to_ranges.kernel("cuda")
def lengths_to_ranges(lengths, /):
    return _ranges(from_lengths(lengths))


@ops.segment_ids_to_ranges.kernel("cuda")
def segment_ids_to_ranges(segment_ids, /, *, num_segments):
    return _ranges(from_ids(segment_ids, num_segments))


@ops.lengths_range_fill.kernel("cuda")
def lengths_range_fill(lengths, /):
    return _rows(_count, from_lengths(lengths))


@ops.lengths_to_weights.kernel("cuda")
def lengths_to_weights(lengths, /, *, power):
    return _rows(_weigh, from_lengths(lengths), np.float64(power), dtype=np.float32)


@ops.lengths_to_shape.kernel("cuda")
def lengths_to_shape(lengths, /):
    from_lengths(lengths)
    lengths = integers(lengths, "lengths")
    other, first = find_facts(_compare, lengths, count=2) if lengths.size else (-1, 0)
    if other >= 0:
        ops.check_equal(lengths.read())
    return lengths.send(np.array([lengths.size, first])).array
