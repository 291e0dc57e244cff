"""Samples of lodkit/ops/sparse_matrix.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ids, reals

REPEATED = LoDTensor(np.array([4, 1, 4, 4, 0]), [[4, 0, 1]])
NESTED = LoDTensor(np.array([0, 2, 1, 1], np.int32), [[2, 1], [1, 2, 1]])
NONE = ids([])
BARE = ids([0, 0])


def scored():
    """Make ids, and values of several item shapes and dtypes."""
    yield REPEATED, reals(5)
    yield NESTED, reals(4, 2, 3)
    yield NONE, reals(0, 2)
    yield BARE, reals(0)
    yield REPEATED, array(5, 3, dtype=np.float16)
    yield REPEATED, array(5, dtype=np.int32)
    yield REPEATED, reals(5, 64, dtype=np.float32)


def given(cases):
    for i, (x, values) in enumerate(cases):
        yield (x, values), {"num_columns": 5 + i} if i % 2 else {}


def dense_of(x, values):
    return array(len(x.row_offsets()) - 1, 6, *values.shape[1:], dtype=values.dtype)


PUT = [((x, x.with_values(v)) if i == 1 else (x, v), a) for i, ((x, v), a) in enumerate(given(scored()))]
FILLED = [(inputs, {**attrs, "pad_value": 2.0}) for inputs, attrs in PUT]
SAMPLES = {
    "sparse_matrix": [*PUT, ((REPEATED,), {}), ((BARE,), {"num_columns": 3})],
    "batch_dense_to_sparse": [((x, dense_of(x, v)), {}) for x, v in scored()],
    "batch_sparse_to_dense": FILLED,
    "batch_sparse_to_dense_grad": [((x, v, dense_of(x, v)), {}) for x, v in scored() if v.dtype.kind == "f"],
}
CAFFE2 = {
    "BatchDenseToSparse": (np.array([2, 1]), np.array([0, 2, 1]), np.ones((2, 3))),
    "BatchSparseToDense": (np.array([2, 1]), np.array([0, 2, 1]), np.ones(3), np.ones((2, 4))),
}
