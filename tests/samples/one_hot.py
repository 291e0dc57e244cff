"""Samples of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ._make import TYPES, array, vector
from .sparse_matrix import BARE, NESTED, NONE, REPEATED

NO_ROWS = np.zeros((0, 3), np.float32)
SPARSE = [array(3, 7, dtype=t) * (array(3, 7, dtype=t) > 0) for t in TYPES]
SAMPLES = {
    "dense_to_id_lists": [((x.astype(t),), {}) for x, t in zip(SPARSE, TYPES, strict=True)]
    + [((x,), {}) for x in (NO_ROWS, NO_ROWS.T, np.zeros((2, 3)), np.array([[np.nan, -0.0, np.inf]]))],
    "one_hot": [
        ((vector(2, 0, 2),), {"size": 3}),
        ((vector(4, dtype=np.int32).reshape(1, 1),), {"size": 40}),
        ((vector(),), {"size": 0}),
        ((NESTED,), {"size": 5}),
        ((REPEATED,), {"size": 5}),
    ],
    "segment_one_hot": [((x,), {"size": 5}) for x in (REPEATED, NESTED, NONE, BARE)] + [((BARE,), {"size": 0})],
}
CAFFE2 = {
    "DenseVectorToIdList": (np.eye(3, dtype=np.float32),),
    "OneHot": (np.array([2, 0]), np.array([3])),
    "SegmentOneHot": (np.array([2, 1], np.int32), np.array([0, 2, 1]), np.array([3])),
}
