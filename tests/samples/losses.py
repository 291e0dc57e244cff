"""Samples of lodkit/ops/losses.py."""

from __future__ import annotations

import numpy as np

from ._make import array, plain, ragged, reals, vector, with_gradient

PAIRS = [
    (reals(4, 3), np.abs(reals(4, 3))),
    (reals(0, 3), reals(0, 3)),
    (reals(2, 1, 2), reals(2, 1, 2)),
    (reals(5, dtype=np.float32), reals(5, dtype=np.float32)),
    (array(3, 2, dtype=np.float16), array(3, 2, dtype=np.float16)),
]
X = ragged([2, 0, 1])
Y = X.with_values(reals(3, 5))
LOGITS = [
    *PAIRS,
    (X, Y.values),
    (X, Y),
    (np.array([-1e3, 1e3, 0.0]), vector(1, 0, 1)),
    (reals(2, dtype=np.float32), [0, 1]),
]
ERRORS = [*PAIRS, (X, Y.values), (X, Y), (X.values, Y)]


def grads(name, cases):
    for inputs, _, grad, attrs in with_gradient(plain(cases), name):
        yield (*inputs, grad), attrs


SAMPLES = {
    "mean_squared_error": [(pair, {}) for pair in ERRORS],
    "sigmoid_cross_entropy_with_logits": [(pair, {}) for pair in LOGITS],
    "mean_squared_error_grad": [*grads("mean_squared_error", [(pair, {}) for pair in PAIRS])],
    "sigmoid_cross_entropy_with_logits_grad": [
        *grads("sigmoid_cross_entropy_with_logits", [(pair, {}) for pair in LOGITS[:-3]])
    ],
}
