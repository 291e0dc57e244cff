"""Samples of lodkit/ops/ctc_align.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ids, ragged, vector

SAMPLES = {
    "ctc_align": [
        ((ids([6, 0, 9], height=3),), {}),
        ((ids([6, 0, 9], height=3),), {"blank": 2, "merge_repeated": False}),
        ((LoDTensor(vector(1, 1, 1, 1, 2, 2, dtype=np.int32).reshape(6, 1), [[1, 2], [2, 3, 1]]),), {}),
        ((ids([2, 1], [1, 0, 2], [4, 7, 1], height=2, dtype=np.int32),), {"blank": 1}),
        ((LoDTensor(vector(-1, -1, 1 << 40, 1 << 40), [[4]]),), {"blank": -1}),
        ((LoDTensor(vector(0, 0), [[1, 1]]),), {}),
        ((ids([0, 0]),), {}),
        ((ids([]),), {}),
    ],
    "ctc_greedy_decode": [
        ((ragged([7, 0, 9], item=(3,)),), {}),
        ((ragged([1, 2], [4, 0, 20], item=(5,), dtype=np.float32),), {"blank": 4}),
        ((LoDTensor(np.array([[np.nan, 1, 2], [2, 2, 1], [-np.inf] * 3, [1, np.nan, np.inf]]), [[4]]),), {"blank": 2}),
        ((ragged([3, 5], item=(2,), dtype=np.float16),), {}),
        ((ragged([2], item=(1,)),), {}),
        ((ragged([0, 0], item=(2,)),), {}),
        ((ragged([], item=(2,)),), {}),
    ],
}
PADDLE = {"ctc_align": ({"Input": LoDTensor(vector(0, 1, 1, 2).reshape(4, 1), [[3, 1]])}, {})}
