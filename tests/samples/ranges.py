"""Samples of lodkit/ops/ranges.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector

RANGES = np.array([[[0, 1], [2, 2]], [[1, 3], [5, 0]], [[4, 1], [2, 2]]])
GATHERED = [
    (reals(6), RANGES),
    (reals(6, 1, 3), RANGES.astype(np.int32)),
    (array(6, 3, dtype=np.float16), RANGES[:, 1:]),
    (array(6, dtype=np.int64), RANGES[:0]),
    (reals(0, 2), np.zeros((2, 0, 2), np.int64)),
]
SEGMENTS = [
    (reals(6), vector(0, 2, 3, 1), vector(2, 0, 3, 2)),
    (reals(6, 20, dtype=np.float32), vector(4, 2, dtype=np.int32), vector(1, dtype=np.int32)),
    (array(3, 2, dtype=np.float16), vector(1, 2), vector(1, 1)),
    (array(6, dtype=np.int32), vector(6), vector()),
]
TILED = [
    (reals(3), vector(2, 0, 1)),
    (reals(3, 2, 2), vector(1, 4, 0, dtype=np.int32)),
    (array(2, 64, dtype=np.float32), vector(3, 2)),
    (array(2, 3, dtype=np.float16), vector(1, 2)),
    (array(0, dtype=np.int64), vector()),
]


def _floating(cases):
    return [case for case in cases if case[0].dtype.kind == "f"]


SAMPLES = {
    "gather_ranges": [(case, {}) for case in GATHERED],
    "gather_ranges_grad": [
        ((x, r, array(int(r[..., 1].sum()), *x.shape[1:], dtype=x.dtype)), {}) for x, r in _floating(GATHERED)
    ],
    "gather_ranges_to_dense": [
        ((reals(6), RANGES), {"lengths": (1, 2)}),
        ((array(6, 2, dtype=np.float32), RANGES, vector(5, 2, 2, 9, 1, 1)), {"lengths": (3, 2)}),
        (
            (array(6, dtype=np.int64), RANGES.astype(np.int32), vector(3, 2, 2, 1, 0, 9, dtype=np.int32)),
            {"lengths": [3, 2]},
        ),
        ((array(6, 3, dtype=np.float16), RANGES[:, 1:]), {"lengths": (2,), "max_empty_ratio": 0.5}),
        ((reals(6), RANGES[:0]), {"lengths": (1, 0)}),
    ],
    "lengths_gather": [(case, {}) for case in SEGMENTS],
    "lengths_gather_grad": [
        ((x, n, i, array(int(n[i].sum()), *x.shape[1:], dtype=x.dtype)), {}) for x, n, i in _floating(SEGMENTS)
    ],
    "lengths_tile": [(case, {}) for case in TILED],
}
CAFFE2 = {
    "GatherRanges": (np.arange(6.0), RANGES),
    "GatherRangesToDense": (np.arange(6.0), RANGES, None, (1, 2)),
    "LengthsGather": (np.arange(3.0), np.array([1, 2], np.int32), np.array([1])),
    "LengthsTile": (np.arange(2.0), np.array([1, 2], np.int32)),
}
