"""Samples of lodkit/ops/segmentation.py."""

from __future__ import annotations

import numpy as np

from ._make import vector
from .conversions import LENGTHS, NUMBERED

SAMPLES = {
    "lengths_range_fill": [((x,), {}) for x in LENGTHS],
    "lengths_to_ranges": [((x,), {}) for x in LENGTHS],
    "lengths_to_shape": [((x,), {}) for x in (vector(2, 2, 2), vector(), vector(0, 0), vector(7, dtype=np.int32))],
    "lengths_to_weights": [((x,), {}) for x in LENGTHS] + [((LENGTHS[0],), {"power": p}) for p in (1, 2.5, -1.0, 0)],
    "segment_ids_to_ranges": NUMBERED,
}
CAFFE2 = {
    "LengthsRangeFill": (np.array([2, 1], np.int32),),
    "LengthsToOffsets": (np.array([2, 1], np.int32),),
    "LengthsToRanges": (np.array([2, 1], np.int32),),
    "LengthsToShape": (np.array([2, 2], np.int32),),
    "LengthsToWeights": (np.array([2, 1], np.int32),),
    "SegmentIdsToRanges": (np.array([0, 0, 2], np.int32), np.ones(4)),
}
