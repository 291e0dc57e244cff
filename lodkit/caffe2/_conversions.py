"""Conversions between lengths, segment ids and other representations."""

from __future__ import annotations

from .. import ops
from ..arrays import flat
from ._common import int32


def lengths_to_segment_ids(lengths):
    return int32(ops.lengths_to_segment_ids(lengths))


def segment_ids_to_lengths(segment_ids, like=None):
    num_segments = None if like is None else len(like)
    return int32(ops.segment_ids_to_lengths(flat(segment_ids), num_segments=num_segments))


OPERATORS = {
    "LengthsToSegmentIds": lengths_to_segment_ids,
    "SegmentIdsToLengths": segment_ids_to_lengths,
}
