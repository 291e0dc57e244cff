"""Samples of lodkit/ops/sequence_mask.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import vector

SAMPLES = {
    "sequence_mask": [
        ((vector(3, 0, 2),), {}),
        ((vector(3, 0, 2, dtype=np.int32),), {"max_length": 2, "dtype": "float32"}),
        ((vector(1, 4).reshape(2, 1),), {"max_length": 5, "dtype": "int64"}),
        ((LoDTensor(vector(2, 1, 0), [[1, 2]]),), {"dtype": "float16"}),
        ((np.array(2),), {"dtype": "float64"}),
        ((vector(),), {"dtype": "int32", "max_length": 2}),
        ((vector(0, 0),), {}),
        ((vector(3),), {"max_length": 0, "dtype": "float32"}),
    ]
}
PADDLE = {"sequence_mask": ({"X": vector(3, 0, 2)}, {"maxlen": -1, "out_dtype": 5})}
