"""Samples of lodkit/ops/weighted_sums.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, vector
from .scatter import targets


def _weights(dtype):
    return [np.array([w], dtype) for w in ((2, 3, -1) if np.dtype(dtype).kind == "i" else (0.5, 2, -0.25))]


def _weighted():
    for data, ids, x in targets():
        w0, w1, w2 = _weights(data.dtype)
        yield (data, np.ones_like(w0), ids, x, w1), {}
        if ids.size < 10:
            yield (data, w0, ids, x, w1, x[::-1].copy(), w2.reshape(())), {}


SUMS = [
    (reals(3, 2), reals(1), reals(3, 2), reals(1)),
    (reals(5, dtype=np.float32), np.float32(2) * np.ones(1, np.float32)),
    (array(2, 3, dtype=np.float16), np.array(0.5, np.float16), array(2, 3, dtype=np.float16), vector(2)),
    (array(4, dtype=np.int32), vector(2), array(4, dtype=np.int32), vector(-1)),
    (ragged([2, 1]), reals(1), ragged([2, 1]), reals(1)),
    (reals(0, 3), reals(1)),
]
SAMPLES = {
    "scatter_weighted_sum": list(_weighted()),
    "weighted_sum": [(case, {}) for case in SUMS],
    "weighted_sum_weights_grad": [
        ((x, w, reals(*x.shape, dtype=x.dtype)), {})
        for x, w, *_ in SUMS
        if not isinstance(x, LoDTensor) and x.dtype.kind == "f"
    ],
}
CAFFE2 = {
    "ScatterWeightedSum": (np.zeros((3, 2)), np.ones(1), np.array([1, 1]), np.ones((2, 2)), np.ones(1)),
    "WeightedSum": (np.zeros((3, 2)), np.ones(1), np.ones((3, 2)), np.ones(1)),
}
