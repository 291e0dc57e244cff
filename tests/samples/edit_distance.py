"""Samples of lodkit/ops/edit_distance.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ids, vector

CASES = [
    ((ids([3, 0, 2, 5], height=3), ids([4, 2, 0, 5], height=3)), {}),
    ((ids([3, 0, 2, 0], height=3), ids([4, 0, 0, 2], height=3)), {"normalized": True}),
    ((ids([70, 130], height=4), ids([150, 66], height=4)), {}),  # several words of 64 tokens
    ((ids([64], height=2, dtype=np.int32), ids([64], height=2)), {}),
    ((ids([2, 1], [1, 4, 3], height=2), ids([2, 1], [3, 2, 3], height=2)), {"ignored_tokens": [1, 7]}),
    ((ids([2], [1, 2], [1, 0, 9], height=3), ids([2], [1, 2], [1, 3, 8], height=3)), {"normalized": True}),
    ((LoDTensor(vector(-1, 1 << 40, 5).reshape(3, 1), [[3]]), LoDTensor(vector(-1, 5, 7), [[3]])), {}),
    ((ids([0, 0]), ids([0, 0])), {"normalized": True}),
    ((ids([]), ids([])), {}),
]
SAMPLES = {"edit_distance": CASES}
WORDS = [
    LoDTensor(vector(*words).reshape(-1, 1), [lengths]) for words, lengths in (((1, 2, 3), [1, 2]), ((1, 3), [1, 1]))
]
PADDLE = {"edit_distance": (dict(zip(("Hyps", "Refs"), WORDS, strict=True)), {"normalized": True})}
