"""Samples of lodkit/ops/beam_search_decode.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

ATTRS = {"beam_size": 3, "end_id": 0}


def steps(*of, dtype=np.float64, ids=np.int64, item=(), above=()):
    """Make steps of prefixes per source, candidates per prefix, ids and scores."""
    levels = [[*above, prefixes, candidates] for prefixes, candidates, *_ in of]
    words = [
        LoDTensor(np.array(x, ids).reshape(-1, *item), level) for (*_, x, _), level in zip(of, levels, strict=True)
    ]
    scores = [
        LoDTensor(np.array(y, dtype).reshape(-1, *item), level) for (*_, y), level in zip(of, levels, strict=True)
    ]
    return (*words, *scores), ATTRS


nan, inf = np.nan, np.inf
# The second source ends a step earlier; the third never starts.
THREE = [
    ([1, 1, 0], [2, 1], [1, 0, 4], [1, 2, 3]),
    ([2, 1, 0], [2, 1, 1], [2, 0, 5, 0], [3, 4, nan, 1]),
    ([3, 1, 0], [1, 1, 1, 0], [6, 0, 7], [5, 7, nan]),
]
SAMPLES = {
    "beam_search_decode": [
        steps(*THREE),
        steps(*THREE, dtype=np.float32, ids=np.int32, item=(1,), above=([2, 1],)),
        steps(([2], [1, 2], [1, 2, 3], [nan, -inf, inf]), dtype=np.float16),
        steps(([1], [3], [1, 2, 3], [2, 2, 2]), ([3], [1, 1, 1], [0, 0, 0], [2, 2, 2])),
        steps(([], [], [], [])),
        steps(([1], [0], [], []), ([0], [], [], [])),
    ]
}
_STEPS = steps(*THREE, dtype=np.float32)[0]
PADDLE = {"beam_search_decode": ({"Ids": [*_STEPS[:3]], "Scores": [*_STEPS[3:]]}, ATTRS)}
