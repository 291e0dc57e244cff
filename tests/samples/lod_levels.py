"""Samples of lodkit/ops/lod_levels.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ids, ragged, reals, vector

X = ragged([2, 0, 3], item=(2,))
RESETS = [
    ((X, vector(4, 0, 1)), {}),
    ((X, ragged([1, 1], [2, 3], item=(), dtype=np.int64)), {}),
    ((X,), {"target_lod": [0, 0, 5]}),
    ((ragged([2, 1], item=(2,)), vector(1, 0, 2, dtype=np.int32)), {"append": True}),
    (
        (ragged([2, 1], [0, 1, 1], item=(64,), dtype=np.float32), ragged([1, 1], [0, 2], dtype=np.int64)),
        {"append": True},
    ),
    ((reals(3), [3]), {"append": True}),
    ((array(3, 2, 2, dtype=np.float16), [1, 2]), {}),
    ((array(2, dtype=np.int64),), {"target_lod": [0, 2]}),
    ((reals(0, 2), vector()), {}),
    ((ragged([0, 0]), ragged([0], [])), {}),
]
APPENDS = [
    ((ragged([2, 1], item=(2,)), vector(1, 0, 2)), {}),
    ((ragged([1, 0, 1], [1, 1], [1, 1], item=()), vector(2, 0, dtype=np.int32)), {}),
    ((reals(3, 2, 2), [3, 0]), {}),
    ((ragged([2], dtype=np.float16, item=(3,)), [1, 1]), {}),
    ((array(2, dtype=np.int32), [2]), {}),
    ((ragged([1, 2], item=(64,), dtype=np.float32), [1, 1, 1]), {}),
    ((ragged([]), vector()), {}),
    ((ragged([0, 0], item=()), vector()), {}),
]
RESHAPES = [
    ((ragged([2, 0, 4], item=(2,)),), {"new_dim": 4}),
    ((ragged([1, 3], item=()),), {"new_dim": 1}),
    ((ragged([4, 2], item=(3,)),), {"new_dim": 2}),
    ((ragged([1, 0, 1], [1, 2], item=(2, 3)),), {"new_dim": 3}),
    ((ragged([1], [2], [1, 2], item=(2,)),), {"new_dim": 1}),
    ((ragged([3, 1], item=(64,), dtype=np.float32),), {"new_dim": 16}),
    ((ragged([2], dtype=np.float16, item=(2,)),), {"new_dim": 4}),
    ((ragged([2, 4], dtype=np.int64, item=()),), {"new_dim": 2}),
    ((ragged([0, 0], item=(3,)),), {"new_dim": 2}),
    ((ragged([], item=(3,)),), {"new_dim": 7}),
]
SPLITS = [
    ((ragged([2, 1, 3], item=(2,)), vector(0, 1, 0)), {}),
    ((ragged([0, 2, 0, 0, 1], item=()), np.array([[True], [True], [False], [True], [False]])), {}),
    ((ragged([2, 0, 1], [1, 0, 2], item=(2, 2)), np.array([False, True, True])), {}),
    ((ragged([2, 0, 2], [1, 0, 2, 3], item=(2,)), np.array([False, True, True, False])), {"level": 1}),
    ((ragged([1, 1], [2, 1], [1, 0, 2], item=()), vector(1, 0, 1)), {"level": 2}),
    ((ragged([2], [2, 1], [1, 0, 2], item=()), vector(1, 0)), {"level": 1}),
    ((reals(4, 2), np.array([True, True, False, True])), {}),
    ((ragged([2, 3], item=(64,), dtype=np.float32), np.array([True, True])), {}),
    ((ragged([1, 2], dtype=np.float16, item=(3,)), np.array([False, False])), {}),
    ((ragged([1, 2], dtype=np.int64, item=()), np.array([False, True])), {}),
    ((ragged([0, 0]), np.array([False, True])), {}),
    ((ragged([]), np.zeros(0, bool)), {}),
    ((reals(0, 2), np.zeros(0, bool)), {}),
]


def merges():
    import lodkit

    for (x, mask), attrs in SPLITS:
        yield (*lodkit.split_lod_tensor.definition(x, mask, **attrs), mask), attrs


SAMPLES = {
    "lod_append": APPENDS,
    "lod_reset": RESETS,
    "merge_lod_tensor": [*merges()],
    "sequence_reshape": RESHAPES,
    "split_lod_tensor": SPLITS,
}
ROWS = LoDTensor(array(6, 1), [[2, 1, 3]])
MASK = np.array([[0], [1], [0]], bool)
PARTS = {"InTrue": LoDTensor(array(1, 1), [[1]]), "InFalse": LoDTensor(array(5, 1), [[2, 3]])}
PADDLE = {
    "lod_reset": ({"X": ROWS, "Y": vector(0, 2, 6, dtype=np.int32)}, {}),
    "merge_lod_tensor": ({"X": ROWS, "Mask": MASK, **PARTS}, {"level": 0}),
    "sequence_reshape": ({"X": LoDTensor(array(6, 2), [[2, 0, 4]])}, {"new_dim": 4}),
    "split_lod_tensor": ({"X": ROWS, "Mask": MASK}, {"level": 0}),
}
