"""Samples of lodkit/ops/features.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals, vector, with_gradient

LISTS = ragged([2, 0, 1], [2, 0, 3], item=()), ragged([0, 1, 2], [1, 4, 0], item=())
ROWS = ragged([2, 1], item=(2, 3)), ragged([0, 3], item=(2, 3)), ragged([1, 1], item=(2, 3))
KEYS = vector(1, 3, 1, 2, 3, dtype=np.int32)
PAGE = ragged([2, 3], [2, 1, 1, 1, 2], item=())
MASK = np.array([[True, False, True], [False, False, True]])

MERGED = [
    (LISTS, {}),
    (ROWS, {}),
    ((ragged([]), ragged([])), {}),
    ((ragged([0, 3], item=(64,), dtype=np.float32), ragged([2, 0], item=(64,), dtype=np.float32)), {}),
    ((ragged([1, 2], [1, 1, 1], [2, 0, 3]),), {}),
    ((ragged([2], dtype=np.float16, item=()), ragged([1], dtype=np.float16, item=())), {}),
    ((ragged([1, 1], dtype=np.int64, item=()), ragged([1, 0], dtype=np.int64, item=())), {}),
]
STACKED = [
    ((reals(3), reals(3)), {"presence": [[True, False, True], vector(0, 0, 1)]}),
    ((ragged([1, 1], item=()), ragged([2, 0], item=())), {"presence": [[False, True], [True, True]]}),
    ((ragged([1, 2], item=(2, 2)), ragged([2, 0], item=(2, 2))), {}),
    ((reals(0, 2), reals(0, 2)), {}),
    ((array(2, 3, dtype=np.float16), array(2, 3, dtype=np.float16)), {"presence": MASK[:, :2]}),
    ((array(3, dtype=np.int32),), {"presence": [[True, False, True]]}),
]
PACKED = [
    ((reals(2, 3),), {"presence": MASK}),
    ((reals(3, 2, 64, dtype=np.float32),), {"presence": MASK.T}),
    ((reals(0, 3),), {"presence": MASK[:0]}),
    ((array(2, 3, dtype=np.float16),), {"presence": MASK * 1}),
    ((array(2, 3, dtype=np.int64),), {"presence": ~MASK}),
]
SELECTED = [
    ((PAGE,), {"keys": KEYS, "feature_keys": [3, 2, 9]}),
    ((PAGE,), {"keys": KEYS, "feature_keys": []}),
    ((ragged([3, 0, 2], item=(2, 2)),), {"keys": [7, -1, 7, 7, 8], "feature_keys": vector(7)}),
    ((ragged([], []),), {"keys": [], "feature_keys": [1]}),
    ((ragged([1, 1], [3, 2], item=(64,), dtype=np.float32),), {"keys": [4, 4], "feature_keys": [4]}),
    ((ragged([2], [1, 2], item=(), dtype=np.int32),), {"keys": [4, 4], "feature_keys": [5, 4]}),
    ((ragged([2], dtype=np.float16, item=()),), {"keys": [4, 5], "feature_keys": [5]}),
]


def _gradients(cases, name, first=False):
    for inputs, out, grad, attrs in with_gradient(cases, name):
        if out.dtype.kind == "f":
            yield ((grad, *inputs) if first else (*inputs, grad)), attrs


SAMPLES = {
    "merge_features": MERGED,
    "merge_features_grad": [*_gradients(MERGED, "merge_features", first=True)],
    "stack_features": STACKED,
    "stack_features_grad": [*_gradients(STACKED, "stack_features", first=True)],
    "pack_features": PACKED,
    "pack_features_grad": [*_gradients(PACKED, "pack_features")],
    "select_features": SELECTED,
    "select_features_grad": [*_gradients(SELECTED, "select_features")],
}

ONES = np.ones(2, np.int32)
HERE = np.array([True, False])
IDS = {"feature_ids": [11]}
CAFFE2 = {
    "MergeDenseFeatureTensors": (np.ones((2, 1), np.float32), HERE[:, None], IDS),
    "MergeSingleScalarFeatureTensors": (np.ones(2, np.float32), HERE, IDS),
    "MergeSingleListFeatureTensors": (ONES, np.ones(2, np.float32), HERE, IDS),
    "MergeSingleMapFeatureTensors": (ONES, np.ones(2, np.int64), np.ones(2, np.float32), HERE, IDS),
    "MergeMultiScalarFeatureTensors": (ONES, np.ones(2, np.int64), np.ones(2, np.float32)),
    "MergeMultiListFeatureTensors": (ONES, np.ones(2, np.int64), ONES, np.ones(2, np.float32)),
    "MergeMultiMapFeatureTensors": (ONES, np.ones(2, np.int64), ONES, np.ones(2, np.int64), np.ones(2, np.float32)),
}
