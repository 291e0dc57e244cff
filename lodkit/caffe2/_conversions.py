"""Conversions between lengths, segment ids and other representations."""

from __future__ import annotations

from .. import ops
from ..arrays.generic import flat
from ..errors import SegmentIdError
from ._common import beside, height, int32


def lengths_to_segment_ids(lengths):
    return int32(ops.lengths_to_segment_ids(lengths), below=len(lengths))


def lengths_range_fill(lengths):
    places = ops.lengths_range_fill(lengths)
    return int32(places, below=len(places))


def lengths_to_ranges(lengths):
    return int32(ops.lengths_to_ranges(lengths))


def lengths_to_shape(lengths):
    return int32(ops.lengths_to_shape(lengths))


def lengths_to_offsets(lengths, *, include_last_offset=False):
    offsets = int32(ops.lengths_to_offsets(lengths))
    return offsets if include_last_offset else offsets[:-1]


def lengths_to_weights(lengths, *, power=0.5):
    return ops.lengths_to_weights(lengths, power=power)


def segment_ids_to_lengths(segment_ids, like=None):
    num_segments = None if like is None else height(like, "like")
    ids = flat(segment_ids)
    return int32(ops.segment_ids_to_lengths(ids, num_segments=num_segments), below=len(ids) + 1)


def segment_ids_to_ranges(segment_ids, like=None):
    """Caffe2's SegmentIdsToRanges: segments behind the last id are [0, 0], those between two ids [start, 0]."""
    ids = flat(segment_ids)
    ranges = ops.segment_ids_to_ranges(ids)
    if like is not None:
        rows = height(like, "like")
        if rows < len(ranges):
            raise SegmentIdError(f"SegmentIdsToRanges: like has {rows} rows, and the ids are of {len(ranges)} segments")
        segments = ops.lengths_range_fill(beside([len(ranges)], ranges))
        ranges = ops.sparse_to_dense(segments, ranges, num_rows=rows)
    return int32(ranges, below=len(ids) + 1)


OPERATORS = {
    "LengthsRangeFill": lengths_range_fill,
    "LengthsToOffsets": lengths_to_offsets,
    "LengthsToRanges": lengths_to_ranges,
    "LengthsToSegmentIds": lengths_to_segment_ids,
    "LengthsToShape": lengths_to_shape,
    "LengthsToWeights": lengths_to_weights,
    "SegmentIdsToLengths": segment_ids_to_lengths,
    "SegmentIdsToLengthsOp": segment_ids_to_lengths,
    "SegmentIdsToRanges": segment_ids_to_ranges,
}
