"""Samples of lodkit/ops/selected_rows.py."""

from __future__ import annotations

import numpy as np

from lodkit import SelectedRows

from ._make import BAGS, GRADIENTS, array, reals, rows, vector

SUMS = [
    (rows(0, 2), rows(2, 4)),
    (rows(), rows(2, 2)),
    (rows(2, 2), reals(6, 3)),
    (reals(6, 3), rows(1), reals(6, 3)),
    (reals(2), reals(2), reals(2)),
    (array(3, 2, dtype=np.int64),),
    (array(6, 3, dtype=np.float16), rows(1, 1, dtype=np.float16)),
]
SAMPLES = {
    "get_tensor_from_selected_rows": [((g,), {}) for g in GRADIENTS],
    "merge_selected_rows": [((g,), {}) for g in GRADIENTS]
    + [((SelectedRows([3, 3], array(2, 4, dtype=np.int32), 5),), {})],
    "selected_rows_to_dense": [((g,), {}) for g in GRADIENTS],
    "gather_selected_rows": [((g, i), {}) for g in GRADIENTS for i in (vector(5, 0, 0, 2), BAGS[3], [[1], [2]])]
    + [((GRADIENTS[1], vector()), {}), ((GRADIENTS[2], np.array([[3, 1]], np.int32)), {})],
    "add_selected_rows": [((array(6, *g.shape[1:], dtype=g.dtype), g), {}) for g in GRADIENTS],
    "sum": [(xs, {}) for xs in SUMS],
}
_GRAD = SelectedRows([1, 1], np.ones((2, 2)), 4)
PADDLE = {
    "merge_selected_rows": ({"X": _GRAD}, {}),
    "get_tensor_from_selected_rows": ({"X": _GRAD}, {}),
    "sum": ({"X": [_GRAD, np.ones((4, 2))]}, {}),
}
