"""Conversions between lengths, segment ids and other representations."""

from __future__ import annotations

import numpy as np

from .. import ops


def lengths_to_segment_ids(lengths):
    return ops.lengths_to_segment_ids(lengths).astype(np.int32)


def segment_ids_to_lengths(segment_ids, like=None):
    ids = np.asarray(segment_ids).reshape(-1)
    return ops.segment_ids_to_lengths(ids, num_segments=None if like is None else len(like)).astype(np.int32)


OPERATORS = {
    "LengthsToSegmentIds": lengths_to_segment_ids,
    "SegmentIdsToLengths": segment_ids_to_lengths,
}
