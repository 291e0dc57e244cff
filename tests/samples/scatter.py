"""Samples of lodkit/ops/scatter.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector


def targets():
    """Make data, ids, and one row per id."""
    for shape, ids, dtype in (
        ((6, 3), vector(4, 1, 4, 4), np.float64),
        ((6, 64), vector(0, 5, 0), np.float32),
        ((6, 2, 2), vector(), np.float32),
        ((5,), np.array([[3, 3, 3], [1, 0, 1]]), np.float16),
        ((4, 3), vector(2, 0, 2, dtype=np.int32), np.int32),
        ((4,), vector(*[1, 3, 1] * 20), np.int64),
        ((4, 0), vector(2, 2), np.float64),
    ):
        yield array(*shape, dtype=dtype), ids, array(*ids.shape, *shape[1:], dtype=dtype)


ELEMENTS = [
    ((reals(2, 3), np.array([[1, 1], [2, 0]]), reals(2, 2)), {}),
    ((reals(6, 4), np.array([[1, 5, 0, 1], [1, 0, 0, 2]]), reals(2, 4)), {"axis": 0}),
    (
        (reals(2, 3, 4, dtype=np.float32), np.array([[[3, 0]], [[1, 1]]]), reals(2, 1, 2, dtype=np.float32)),
        {"axis": -1},
    ),
    ((array(3, 2, dtype=np.float16), vector(0, 1, 1).reshape(3, 1), array(3, 1, dtype=np.float16)), {}),
    ((array(2, 2, dtype=np.int64), np.zeros((2, 0), np.int32), array(2, 0, dtype=np.int64)), {}),
    ((array(4, dtype=np.int32), vector(2, 2), array(2, dtype=np.int32)), {"axis": 0}),
]
SAMPLES = {
    "scatter": ELEMENTS,
    "scatter_assign": [(case, {}) for case in targets()],
    "scatter_grad": [((x, i, reals(*x.shape, dtype=x.dtype)), a) for (x, i, _), a in ELEMENTS if x.dtype.kind == "f"],
}
CAFFE2 = {
    "Scatter": (np.zeros((2, 3)), np.array([[1], [2]]), np.ones((2, 1))),
    "ScatterAssign": (np.zeros((3, 2)), np.array([1, 1]), np.ones((2, 2))),
    "ScatterUpdate": (np.zeros((3, 2)), np.array([1, 1]), np.ones((2, 2))),
}
