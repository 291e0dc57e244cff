"""Samples of lodkit/ops/lod_levels.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, vector

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
    ((ragged([2], [1, 1], [3, 0], item=(2, 2), dtype=np.float16), ragged([1, 2, 0], dtype=np.int64)), {}),
    ((ragged([]), vector()), {}),
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
    ((ragged([2], [0, 2], item=(2, 2)), vector(0, 2)), {}),
    ((ragged([2, 0, 1, 0], item=(), dtype=np.int64), vector(1, 2, 0)), {}),
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
    ((ragged([0, 2, 0], item=(2,)),), {"new_dim": 4}),
]
SAMPLES = {"lod_append": APPENDS, "lod_reset": RESETS, "sequence_reshape": RESHAPES}
ROWS = LoDTensor(array(6, 1), [[2, 1, 3]])
PADDLE = {
    "lod_reset": ({"X": ROWS, "Y": vector(0, 2, 6, dtype=np.int32)}, {}),
    "sequence_reshape": ({"X": LoDTensor(array(6, 2), [[2, 0, 4]])}, {"new_dim": 4}),
}
