"""Samples of lodkit/ops/sparse_dense.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector
from .sparse_matrix import REPEATED, scored

MASK = {"mask": [4, 9, 1, 0]}
ONE = vector(4, -1, 1, 4, 7, dtype=np.int32)
INDICES = [vector(2, 0, 2), vector(2, 0, 2, dtype=np.int32)]


def masked():
    for x, values in (*scored(), (ONE, reals(5, 2)), (vector(), reals(0)), (REPEATED.with_values(ONE), reals(5))):
        yield (x, values, array(*values.shape[1:], dtype=values.dtype)), MASK
    yield (REPEATED, REPEATED.with_values(reals(5)), np.array(0.5)), {"mask": []}
    yield (REPEATED, reals(5), np.array(1, np.int32)), {"mask": np.array([7, 1]), "max_skipped": 0}


def mask_gradients():
    import lodkit

    for (x, values, default), attrs in masked():
        values = values.values if isinstance(values, lodkit.LoDTensor) else values
        if values.dtype.kind == "f":
            dense, _ = lodkit.sparse_to_dense_mask.definition(x, values, default, **attrs)
            dense = dense.values if isinstance(dense, lodkit.LoDTensor) else dense
            yield (x, values, array(*dense.shape, dtype=dense.dtype)), {"mask": attrs["mask"]}


SAMPLES = {
    "sparse_to_dense": [
        ((INDICES[0], reals(3)), {}),
        ((INDICES[1], reals(3, 64, dtype=np.float32)), {"num_rows": 5}),
        ((vector(), reals(0, 2)), {}),
        ((vector(), reals(0, 2)), {"num_rows": 2}),
        ((INDICES[0], array(3, 3, dtype=np.float16)), {"num_rows": 3}),
        ((INDICES[0], array(3, 2, 2, dtype=np.int64)), {}),
    ],
    "sparse_to_dense_mask": list(masked()),
    "sparse_to_dense_mask_grad": list(mask_gradients()),
}
CAFFE2 = {
    "EnsureDense": (np.ones((2, 3)),),
    "SparseToDense": (np.array([0, 2, 0]), np.ones((3, 2))),
    "SparseToDenseMask": (np.array([7, 4, 9]), np.ones(3), np.array(0.0), np.array([2, 1], np.int32), {"mask": [4, 7]}),
    "SparseToDenseMaskGradient": (np.array([7, 4, 9]), np.ones((2, 2)), np.array([2, 1], np.int32), {"mask": [4, 7]}),
}
