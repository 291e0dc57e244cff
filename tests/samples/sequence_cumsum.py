"""Samples of lodkit/ops/sequence_cumsum.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ragged

SAMPLES = {
    "sequence_cumsum": [
        ((x,), attrs)
        for x, attrs in (
            (ragged([3, 1, 2]), {}),
            (ragged([0, 4, 0, 0, 2, 0], item=()), {}),
            (ragged([40, 5], item=()), {"exclusive": True}),
            (ragged([0, 0]), {"exclusive": True}),
            (ragged([]), {}),
            (ragged([1], item=(1,)), {"reverse": True}),
            (ragged([3, 1, 2], [3, 2, 4, 1, 0, 3], item=(2, 3)), {"reverse": True}),
            (ragged([2, 0], [1, 2], [2, 1, 0], item=()), {"level": 0, "exclusive": True, "reverse": True}),
            (ragged([2, 1], item=(0,)), {}),
            (ragged([5, 0, 12], item=(64,), dtype=np.float32), {}),
            (ragged([4, 0, 2], item=(5,), dtype=np.float16), {}),
            (ragged([9, 1], item=(), dtype=np.int32), {}),
            (ragged([9, 1], dtype=np.int64), {"exclusive": True}),
            (LoDTensor(np.array([1, np.inf, 2, -np.inf, 1, np.nan, 1]), [[3, 1, 3]]), {}),
        )
    ]
}
