"""Conversions between lengths, segment ids and other representations."""

from __future__ import annotations

import numpy as np

from .. import ops


def _int32(convert):
    def run(lengths):
        return convert(lengths).astype(np.int32)

    return run


def lengths_to_offsets(lengths, *, include_last_offset=False):
    offsets = ops.lengths_to_offsets(lengths).astype(np.int32)
    return offsets if include_last_offset else offsets[:-1]


def lengths_to_weights(lengths, *, power=0.5):
    return ops.lengths_to_weights(lengths, power=power)


def segment_ids_to_lengths(segment_ids, like=None):
    ids = np.asarray(segment_ids).reshape(-1)
    return ops.segment_ids_to_lengths(ids, num_segments=None if like is None else len(like)).astype(np.int32)


def segment_ids_to_ranges(segment_ids, like=None):
    """Caffe2's SegmentIdsToRanges: segments behind the last id are [0, 0], those between two ids [start, 0]."""
    ids = np.asarray(segment_ids).reshape(-1)
    ranges = ops.segment_ids_to_ranges(ids)
    if like is not None:
        segments = ops.lengths_range_fill([len(ranges)])
        ranges = ops.sparse_to_dense(segments, ranges, num_rows=len(like))
    return ranges.astype(np.int32)


OPERATORS = {
    "LengthsRangeFill": _int32(ops.lengths_range_fill),
    "LengthsToOffsets": lengths_to_offsets,
    "LengthsToRanges": _int32(ops.lengths_to_ranges),
    "LengthsToSegmentIds": _int32(ops.lengths_to_segment_ids),
    "LengthsToShape": _int32(ops.lengths_to_shape),
    "LengthsToWeights": lengths_to_weights,
    "SegmentIdsToLengths": segment_ids_to_lengths,
    "SegmentIdsToRanges": segment_ids_to_ranges,
}
