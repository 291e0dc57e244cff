"""CPU kernels of lodkit/ops/segmentation.py."""

from __future__ import annotations

import numpy as np

from ...jit import njit
from ...lod.offsets import inner_numbers
from ...ops import segmentation as ops
from .conversions import lengths_to_offsets, offsets_to_lengths, segment_ids_to_offsets


@njit
def _pair(offsets, ranges):
    for s in range(len(ranges)):
        ranges[s, 0] = offsets[s]
        ranges[s, 1] = offsets[s + 1] - offsets[s]


@njit
def _repeat(offsets, numbers, out):
    for s in range(len(numbers)):
        for i in range(offsets[s], offsets[s + 1]):
            out[i] = numbers[s]


def _ranges(offsets):
    ranges = np.empty((len(offsets) - 1, 2), np.int64)
    _pair(offsets, ranges)
    return ranges


@ops.lengths_to_ranges.kernel("cpu")
def lengths_to_ranges(lengths, /):
    return _ranges(lengths_to_offsets(lengths))


@ops.segment_ids_to_ranges.kernel("cpu")
def segment_ids_to_ranges(segment_ids, /, *, num_segments):
    return _ranges(segment_ids_to_offsets(segment_ids, num_segments=num_segments))


@ops.lengths_range_fill.kernel("cpu")
def lengths_range_fill(lengths, /):
    return inner_numbers(lengths_to_offsets(lengths))


@ops.lengths_to_weights.kernel("cpu")
def lengths_to_weights(lengths, /, *, power):
    offsets = lengths_to_offsets(lengths)
    weights = np.empty(offsets[-1], np.float32)
    # An empty segment has no row to take its weight.
    with np.errstate(divide="ignore", over="ignore"):
        of_segment = (offsets_to_lengths(offsets).astype(np.float64) ** -power).astype(np.float32)
    _repeat(offsets, of_segment, weights)
    return weights


@ops.lengths_to_shape.kernel("cpu")
def lengths_to_shape(lengths, /):
    lengths = offsets_to_lengths(lengths_to_offsets(lengths))
    ops.check_equal(lengths)
    return np.array([len(lengths), lengths[0] if len(lengths) else 0], np.int64)
