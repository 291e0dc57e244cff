"""Samples of lodkit/ops/time_major.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector

PADDED = [
    ((reals(3, 4, 2), vector(3, 0, 2, 1)), {}),
    ((reals(2, 3), vector(1, 1, 2, dtype=np.int32)), {}),
    ((reals(4, 2, 2, 2), vector(2, 3)), {}),
    ((reals(2, 2, 64, dtype=np.float32), vector(2, 1)), {}),
    ((array(2, 2, 3, dtype=np.float16), vector(1, 2)), {}),
    ((array(2, 2, dtype=np.int64), vector(2, 0)), {}),
    ((reals(0, 2, 2), vector(0, 0)), {}),
    ((reals(2, 0), vector()), {}),
]
SAMPLES = {
    "pack_rnn_sequence": [
        ((reals(6, 3), vector(3, 0, 2, 1)), {}),
        ((reals(4), vector(1, 3, dtype=np.int32)), {"num_steps": 4}),
        ((reals(3, 2, 2), vector(1, 2)), {}),
        ((reals(3, 64, dtype=np.float32), vector(2, 1)), {}),
        ((array(3, 4, dtype=np.float16), vector(1, 2)), {}),
        ((array(2, dtype=np.int32), vector(2)), {}),
        ((reals(0, 2), vector(0, 0)), {"num_steps": 2}),
        ((reals(0), vector()), {}),
    ],
    "reverse_packed_segs": PADDED,
    "unpack_rnn_sequence": PADDED,
}
STEPS, LENGTHS = np.ones((2, 2, 3), np.float32), np.array([1, 2], np.int32)
CAFFE2 = {
    "PackRNNSequence": (np.ones((3, 2), np.float32), LENGTHS),
    "ReversePackedSegs": (STEPS, LENGTHS),
    "UnpackRNNSequence": (STEPS, LENGTHS),
}
