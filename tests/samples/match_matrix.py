"""Samples of lodkit/ops/match_matrix.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals


def pair(rows, columns, a=3, channels=2, b=4, dtype=np.float64):
    make = array if dtype == np.float16 else reals
    x, y = (ragged(*levels, item=(n,), dtype=dtype) for levels, n in ((rows, a), (columns, b)))
    return x, y, make(a, channels, b, dtype=dtype)


CASES = [
    (pair([[3, 0, 2]], [[2, 4, 1]]), {}),
    (pair([[1]], [[1]], 1, 1, 1), {}),
    (pair([[0, 2]], [[3, 0]]), {}),
    (pair([[]], [[]]), {}),
    (pair([[2, 1], [1, 0, 3]], [[2, 2, 1]], channels=1), {}),
    (pair([[4, 2]], [[3, 2]], 5, 3, 2, np.float32), {}),
    (pair([[2]], [[2]], 2, 1, 2, np.float16), {}),
]


def rows_of(x, y, weight):
    return weight.shape[1] * int((x.lengths() * y.lengths()).sum())


SAMPLES = {
    "match_matrix": CASES,
    "match_matrix_grad": [((*xs, array(rows_of(*xs), 1, dtype=xs[2].dtype)), {}) for xs, _ in CASES],
}
PADDLE = {"match_matrix_tensor": (dict(zip(("X", "Y", "W"), pair([[2, 1]], [[1, 2]]), strict=True)), {"dim_t": 2})}
