"""Conversions between lengths, segment ids and other representations."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ..errors import SegmentIdError
from ._common import array_like, height, int32


def lengths_to_segment_ids(lengths):
    return int32(ops.lengths_to_segment_ids(lengths), below=len(lengths))


def lengths_range_fill(lengths):
    positions = ops.lengths_range_fill(lengths)
    return int32(positions, below=len(positions))


def lengths_to_offsets(lengths, *, include_last_offset=False):
    offsets = int32(ops.lengths_to_offsets(lengths))
    return offsets if include_last_offset else offsets[:-1]


def segment_ids_to_lengths(segment_ids, like=None):
    num_segments = None if like is None else height(like, "like")
    ids = flat(segment_ids)
    return int32(ops.segment_ids_to_lengths(ids, num_segments=num_segments), below=len(ids) + 1)


def segment_ids_to_ranges(segment_ids, like=None):
    """SegmentIdsToRanges of Caffe2: segments after the last id are [0, 0], gaps between ids [start, 0]."""
    ids = flat(segment_ids)
    ranges = ops.segment_ids_to_ranges(ids)
    if like is not None:
        rows = height(like, "like")
        if rows < len(ranges):
            raise SegmentIdError(f"SegmentIdsToRanges: like has {rows} rows, but the ids have {len(ranges)} segments")
        segments = ops.lengths_range_fill(array_like([len(ranges)], ranges))
        ranges = ops.sparse_to_dense(segments, ranges, num_rows=rows)
    return int32(ranges, below=len(ids) + 1)


OPERATORS: dict = {
    "LengthsRangeFill": lengths_range_fill,
    "LengthsToOffsets": lengths_to_offsets,
    "LengthsToRanges": lambda lengths: int32(ops.lengths_to_ranges(lengths)),
    "LengthsToSegmentIds": lengths_to_segment_ids,
    "LengthsToShape": lambda lengths: int32(ops.lengths_to_shape(lengths)),
    "LengthsToWeights": lambda lengths, *, power=0.5: ops.lengths_to_weights(lengths, power=power),
    "SegmentIdsToLengths": segment_ids_to_lengths,
    "SegmentIdsToLengthsOp": segment_ids_to_lengths,
    "SegmentIdsToRanges": segment_ids_to_ranges,
}
