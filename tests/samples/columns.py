"""Samples of lodkit/ops/columns.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals, with_gradient

COLUMNS = [
    ((reals(3, 2), reals(3), reals(3, 4)), {}),
    ((reals(0, 2), reals(0, 1)), {}),
    ((array(2, 1, dtype=np.float16), array(2, 3, dtype=np.float16)), {}),
    ((array(2, 2, dtype=np.int64),), {}),
    ((np.array([[65535], [31745]], np.uint16), np.array([1, 64513], np.uint16)), {}),
    ((reals(2, 0, dtype=np.float32), reals(2, 5, dtype=np.float32)), {}),
]
SLICES = [
    ((reals(3, 5),), {"ranges": [(3, 5), (0, 1)]}),
    ((ragged([2, 0, 1], item=(4,)),), {"ranges": [(0, 3), (1, 4), (2, 2)]}),
    ((ragged([1, 1], [2, 1], item=(2, 3)),), {"ranges": np.array([[1, 5]])}),
    ((reals(3),), {"ranges": [(0, 1), (0, 1)]}),
    ((ragged([2, 1], item=(64,), dtype=np.float32),), {"ranges": [(0, 32), (16, 64)]}),
    ((array(2, 3, dtype=np.float16),), {"ranges": [(0, 3), (0, 2)]}),
    ((ragged([1, 1], item=(2,), dtype=np.int64),), {"ranges": [(1, 2)]}),
    ((reals(2, 3),), {"ranges": []}),
    ((reals(0, 3),), {"ranges": [(0, 2)]}),
    ((reals(2, 0),), {"ranges": [(0, 0)]}),
]


def slice_grads():
    import lodkit

    for (x,), attrs in SLICES:
        if x.dtype.kind == "f":
            values = x.values if isinstance(x, lodkit.LoDTensor) else x
            out = lodkit.slice_columns.definition(values, **attrs)
            yield (x, array(*out.shape, dtype=out.dtype)), attrs


SAMPLES = {
    "concat_columns": COLUMNS,
    "concat_columns_grad": [((grad, *xs), {}) for xs, _, grad, _ in with_gradient(COLUMNS, "concat_columns")],
    "slice_columns": SLICES,
    "slice_columns_grad": [*slice_grads()],
}
