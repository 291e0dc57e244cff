"""Samples of lodkit/ops/sequence_center.py."""

from __future__ import annotations

import numpy as np

from ._make import ragged

NESTED = [3, 1, 2], [3, 2, 4, 1, 0, 3]
CASES = [
    (ragged([]), {}),
    (ragged([0, 0]), {}),
    (ragged([1], item=(1,)), {}),
    (ragged([3, 1, 2]), {}),
    (ragged([0, 4, 0, 0, 2, 0], item=()), {}),
    (ragged(*NESTED, item=(2, 3)), {}),
    (ragged(*NESTED, item=()), {"level": 0}),
    (ragged([2, 0], [1, 2], [2, 1, 0], item=(1,)), {"level": -2}),
    (ragged([2, 1], item=(0,)), {}),
    (ragged([70, 2, 0], item=(2, 1, 3), dtype=np.float32), {}),
    (ragged([5, 0, 12], item=(64,), dtype=np.float32), {}),
    (ragged([40, 0, 30], item=(17,), dtype=np.float32), {}),  # the last strip of columns overlaps the one before
    (ragged([9, 1], item=(), dtype=np.float16), {}),
    (ragged([4, 2], item=(64,), dtype=np.float16), {}),
    (ragged(*NESTED, item=(20,), dtype=np.float16), {"level": 0}),
]

SAMPLES = {"sequence_center": [((x,), attrs) for x, attrs in CASES]}
