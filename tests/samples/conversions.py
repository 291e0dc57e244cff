"""Samples of lodkit/ops/conversions.py."""

from __future__ import annotations

import numpy as np

from ._make import vector

LENGTHS = [vector(3, 4, 2), vector(), vector(0, 0, 5, 0), vector(7, dtype=np.int32)]
IDS = [vector(0, 0, 0, 1, 1, 1, 1, 2, 2), vector(), vector(2, 2, 5), vector(0, dtype=np.int32)]
OFFSETS = [vector(0, 3, 7, 9), vector(0), vector(0, 0, 0, 5, 5), vector(0, 2, dtype=np.int32)]
NUMBERED = [((i,), {}) for i in IDS] + [((IDS[2],), {"num_segments": 9}), ((IDS[1],), {"num_segments": 2})]
SAMPLES = {
    "lengths_to_offsets": [((x,), {}) for x in LENGTHS],
    "lengths_to_segment_ids": [((x,), {}) for x in LENGTHS],
    "offsets_to_lengths": [((x,), {}) for x in OFFSETS],
    "offsets_to_segment_ids": [((x,), {}) for x in OFFSETS],
    "segment_ids_to_lengths": NUMBERED,
    "segment_ids_to_offsets": [*NUMBERED, ((IDS[0],), {"allow_gaps": False})],
}
CAFFE2 = {
    "LengthsToSegmentIds": (np.array([2, 1], np.int32),),
    "SegmentIdsToLengths": (np.array([0, 0, 1], np.int32),),
    "SegmentIdsToLengthsOp": (np.array([0, 0, 1], np.int32),),
}
