"""Samples of lodkit/ops/gather_scatter.py."""

from __future__ import annotations

import numpy as np

from ._make import LOOKUPS, PLAIN_LOOKUPS, TABLE, array, reals, rng, vector

ALONG = [
    ((reals(2, 4, 3), vector(3, 0, 3)), {"axis": 1}),
    ((reals(3, 5), vector(-1, 2, dtype=np.int32)), {"axis": -1, "wrap": True}),
    ((reals(2, 4, 3), np.array([[1, 1], [3, 0]])), {"axis": 1, "match_outer": True}),
    ((array(2, 2, 4, dtype=np.float16), vector(2, 2).reshape(1, 2)), {"axis": 2}),
]
BATCHES = [
    ((reals(2, 4, 64, dtype=np.float32), vector(3, 0, 3)), {}),
    ((reals(3, 5), vector()), {}),
    ((reals(0, 5), vector(4, dtype=np.int32)), {}),
    ((array(2, 4, 3, dtype=np.int64), np.array([[1, 1], [3, 0]])), {"match_outer": True}),
    ((array(2, 3, 2, dtype=np.float16), np.array([[1, 1], [2, 0]])), {}),
]


def _flow(inputs, attrs, axis=1):
    data, ids = inputs
    axis = attrs.get("axis", axis) % data.ndim
    middle = ids.shape[axis if attrs.get("match_outer") else 0 :]
    return array(*data.shape[:axis], *middle, *data.shape[axis + 1 :], dtype=data.dtype)


BYTES = [
    ((rng.integers(0, 256, (6, *item)).astype(dtype), i), {})
    for dtype in (np.uint8, bool, np.int8, np.int16)
    for item in ((), (5,), (16,), (2, 3))
    for i in (vector(4, 0, 4), vector())
]
SAMPLES = {
    "gather": [((t, i), {}) for (t, i), a in LOOKUPS] + [((TABLE, vector(-1, 2, -6)), {"wrap": True}), *ALONG, *BYTES],
    "gather_grad": [
        ((t, i, reals(*i.shape, *t.shape[1:], dtype=t.dtype)), {}) for (t, i), a in PLAIN_LOOKUPS if t.dtype.kind == "f"
    ]
    + [((TABLE, vector(-1, 5, -6), reals(3, 3)), {"wrap": True, "is_sparse": False})],
    "batch_gather": BATCHES,
    "batch_gather_grad": [((*i, _flow(i, a)), a) for i, a in (*BATCHES, *ALONG) if i[0].dtype.kind == "f"],
}
CAFFE2 = {
    "Gather": (np.arange(6.0), np.array([-1, 2])),
    "BatchGather": (np.ones((2, 3)), np.array([2, 0])),
    "BatchGatherGradient": (np.ones((2, 3)), np.array([2, 0]), np.ones((2, 2))),
}
