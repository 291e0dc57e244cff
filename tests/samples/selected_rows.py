"""Samples of lodkit/ops/selected_rows.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor, SelectedRows

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
    "shape": [((x,), {}) for x in (*GRADIENTS, reals(2, 3), reals(), BAGS[3], array(0, 2, dtype=np.int64))],
    "selected_rows_to_dense": [((g,), {}) for g in GRADIENTS],
    "gather_selected_rows": [((g, i), {}) for g in GRADIENTS for i in (vector(5, 0, 0, 2), BAGS[3], [[1], [2]])]
    + [((g, [[0], [2]]), {"padding_idx": p}) for g in (GRADIENTS[1], GRADIENTS[1].merge()) for p in (0, 2, 3)]
    + [((GRADIENTS[1], vector(2, 0, 3, 2)), {"absent": "raise", "padding_idx": 3})]
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
for _name in ("abs", "square", "sqrt", "assign", "isfinite", "isinf", "isnan"):
    PADDLE[_name] = {"X": _GRAD}, {}
PADDLE |= {
    "clip": ({"X": _GRAD}, {"min": -1.0, "max": 0.5}),
    "clip_by_norm": ({"X": _GRAD}, {"max_norm": 1.0}),
    "scale": ({"X": _GRAD}, {"scale": 0.5}),
    "elementwise_mul": ({"X": _GRAD, "Y": np.array([2.0])}, {"axis": -1}),
    "shape": ({"Input": _GRAD}, {}),
    "split_selected_rows": ({"X": _GRAD}, {"height_sections": [1, 3]}),
    "merge_ids": (
        {"Ids": [np.array([[5], [2]])], "Rows": [np.array([[2]]), np.array([[5]])], "X": [np.ones((1, 2))] * 2},
        {},
    ),
    "split_ids": ({"Ids": np.array([[5], [2], [5], [3]])}, {"num_outputs": 2}),
    "fused_embedding_seq_pool": ({"W": np.ones((4, 2)), "Ids": LoDTensor([[1], [3]], [[2, 0]])}, {"combiner": "sum"}),
}
