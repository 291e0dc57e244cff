"""Samples of lodkit/ops/dense.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, vector

MATRICES = [reals(4, 3), reals(0, 3), reals(1, 1), reals(5, 7, dtype=np.float32), array(3, 2, dtype=np.float16)]
ELEMENTS = [*MATRICES, reals(), reals(2, 3, 4), ragged([2, 0, 1])]


def dense_grad():
    return [((y, reals(*y.shape, dtype=y.dtype)), {}) for y in (*MATRICES, reals(2, 3, 4))]


SAMPLES = {
    "fc": [
        (
            (
                x,
                reals(
                    x.values.shape[1] if isinstance(x, LoDTensor) else x.size // max(len(x), 1) or x.shape[1],
                    4,
                    dtype=x.dtype,
                ),
            ),
            {},
        )
        for x in (*MATRICES[:1], *MATRICES[2:], ragged([2, 1]))
    ]
    + [((reals(2, 3, 2), reals(6, 5), reals(5)), {}), ((reals(0, 3), reals(3, 2), reals(2)), {})],
    "fc_grad": [((reals(n, 3), reals(3, 2), reals(n, 2)), {}) for n in (0, 1, 4)],
    "mean": [((x,), {}) for x in ELEMENTS],
    "mean_grad": [((x, vector(2, dtype=x.dtype)), {}) for x in MATRICES],
    "relu": [((x,), {}) for x in (*ELEMENTS, array(2, 3, dtype=np.int32))],
    "relu_grad": dense_grad(),
    "sigmoid": [((x,), {}) for x in ELEMENTS] + [((np.array([-1e3, 1e3, np.nan]),), {})],
    "sigmoid_grad": dense_grad(),
    "softmax_with_cross_entropy": [
        ((reals(3, 4), vector(0, 3, 1)), {}),
        ((reals(2, 4, dtype=np.float32), vector(0, 3).reshape(2, 1)), {}),
        ((reals(0, 4), vector()), {}),
        ((array(2, 3, dtype=np.float16), vector(2, 2)), {}),
        ((np.array([[np.inf, 0.0], [1e4, -1e4]]), vector(0, 0)), {}),
        ((ragged([2, 1]), vector(0, 4, 1)), {}),
    ],
    "softmax_with_cross_entropy_grad": [((reals(n, 4), vector(*range(n)), reals(n, 1)), {}) for n in (0, 1, 3)],
    "tanh": [((x,), {}) for x in ELEMENTS],
    "tanh_grad": dense_grad(),
}
