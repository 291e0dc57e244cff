"""Samples of lodkit/ops/row_updates.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector

LISTED = [
    (reals(6, 3), vector(4, 1)),
    (reals(6, 3), vector(2, 2, 0, 2, dtype=np.int32)),
    (reals(6, 2, 2, dtype=np.float32), vector(*[5, 0, 3] * 40)),
    (reals(6, 64, dtype=np.float32), vector(1, 1, 4)),
    (array(6, 4, dtype=np.float16), vector(1, 1, 4)),
    (reals(6), vector(5)),
    (reals(6, 3), vector()),
    (reals(0, 3), vector()),
]


def counters(dtype, *rows, **attrs):
    inputs = vector(3, 9, 5, 0), np.abs(reals(4, dtype=dtype)), vector(*rows)
    return inputs, {"iteration": 7, "halflife": 2.5, **attrs}


SAMPLES = {
    "sparse_normalize": [(inputs, {"norm": 0.5, "use_max_norm": k % 2 == 0}) for k, inputs in enumerate(LISTED)]
    + [((np.zeros((2, 3)), vector(0)), {})],
    "sparse_lp_regularizer": [(inputs, {"p": 1 + k % 2, "reg_lambda": 0.25}) for k, inputs in enumerate(LISTED[:6])]
    + [(inputs, {"p": 1, "reg_lambda": 0.25, "duplicates": "sequential"}) for inputs in LISTED[1:2] + LISTED[6:]],
    "rowwise_counter": [
        counters(np.float64, 0, 2, 0, 1),
        counters(np.float32, 3, iteration=np.array([1 << 40])),
        counters(np.float64),
        counters(np.float64, 1, halflife=-1.0),
    ],
}
CAFFE2 = {
    "SparseNormalize": (np.ones((3, 3)), np.array([1])),
    "SparseLpRegularizer": (np.ones((3, 3)), np.array([1])),
    "RowWiseCounter": (np.zeros(3, np.int64), np.ones(3), np.array([1]), np.array([5])),
}
