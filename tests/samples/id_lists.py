"""Samples of lodkit/ops/id_lists.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import FLOATS, ids, rng, vector

ENDS = np.iinfo(np.int64)
VECTORS = [
    vector(7, 2, 7, 9),
    vector(),
    vector(5, dtype=np.int32),
    vector(3, -4, 3, -4, 3),
    vector(ENDS.max, ENDS.min, 0, ENDS.max, -1),
    rng.integers(0, 40, 60),
]
REALS = [np.array([0.0, -0.0, np.nan, np.inf, np.nan, np.inf, -1.5], kind) for kind in FLOATS]
BOTH = {"return_inverse": True, "return_counts": True}
LISTS = [
    (LoDTensor([5, 3, 7], [[2, 1]]), LoDTensor([3, 4], [[1, 1]])),
    (LoDTensor(vector(), [[]]),),
    (LoDTensor(vector(), [[0, 0]]), LoDTensor(vector(4, 4, -1), [[0, 3]])),
    (ids([2, 1], [4, 0, 3]), ids([2, 1], [0, 2, 30], dtype=np.int32), ids([2, 1], [1, 1, 1])),
    (LoDTensor(VECTORS[4], [[3, 2]]), LoDTensor(VECTORS[4][::-1], [[1, 4]])),
]
SAMPLES = {
    "unique": [((x,), BOTH) for x in VECTORS] + [((VECTORS[0],), {}), ((VECTORS[3],), {"return_counts": True})],
    "merge_id_lists": [(lists, {}) for lists in LISTS],
    "find_duplicate_elements": [((x,), {}) for x in VECTORS + REALS],
    "find": [((x, vector(7, 3, -4)), {}) for x in VECTORS[1:]]
    + [
        ((VECTORS[0], vector(7, 8, 2).reshape(1, 3, 1)), {"missing_value": -5}),
        ((VECTORS[0], LoDTensor([9, 8], [[0, 2]])), {}),
        ((VECTORS[4], VECTORS[4]), {}),
        ((VECTORS[0], vector(dtype=np.int32)), {}),
    ],
}
_LENGTHS, _IDS = np.array([1, 2], np.int32), np.array([4, 7, 4])
CAFFE2 = {
    "Unique": (_IDS,),
    "MergeIdLists": (_LENGTHS, _IDS, _LENGTHS, _IDS),
    "FindDuplicateElements": (_IDS,),
    "Find": (_IDS, np.array([7])),
}
