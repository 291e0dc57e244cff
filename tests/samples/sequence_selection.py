"""Samples of lodkit/ops/sequence_selection.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import ragged, reals, vector, with_gradient

SLICED = [
    ((ragged([3, 0, 2]), vector(1, 0, -1), vector(3, 0, 2)), {}),
    ((ragged([3, 0, 2], item=()), vector(0, 0, 1, dtype=np.int32), vector(2, 0, 1)), {"by": "lengths", "wrap": False}),
    ((ragged([3, 1]), None, vector(-1, 1)), {}),
    ((ragged([3, 1, 0], item=(2, 2)), -2, 5), {"clip": True}),
    ((ragged([2, 1], [2, 0, 3]), LoDTensor([0, 1, 0], [[1, 0, 2]]), LoDTensor([2, 3, 2], [[1, 0, 2]])), {}),
    ((ragged([2, 1], [2, 0, 3]), vector(1, 0)), {"level": 0}),
    ((ragged([2, 1], [2, 0, 3]), LoDTensor([0, 1, 0], [[2, 1]]), 1), {"level": 0, "by": "lengths"}),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3]), None, vector(1, 0, 2)), {"level": 1}),
    ((ragged([]), vector()), {}),
    ((ragged([0, 0]), 0), {}),
    ((ragged([4, 3], item=(64,), dtype=np.float32), vector(1, 2)), {}),
    ((ragged([3, 2], dtype=np.float16), LoDTensor([0, 1, 0], [[2, 1]]), None), {}),
    ((ragged([3], item=(), dtype=np.int64), [1]), {}),
    ((ragged([0, 2]), vector(0, 1), vector(0, 2)), {}),
    ((ragged([3]), 1), {}),
]
SELECTED = [
    ((ragged([3, 0, 2], [2, 0, 3, 1, 1]), LoDTensor([2, 0, 1, 1], [[2, 0, 2]])), {}),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3], item=()), LoDTensor([1, 0], [[1, 1]])), {}),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3]), LoDTensor([1, 0, 1], [[0, 3], [0, 0, 3]])), {"level": 1}),
    ((ragged([2, 1], [2, 0, 3]), LoDTensor(vector(1, 2, 0, dtype=np.int32), [[1, 0, 2]])), {"level": -1}),
    ((ragged([2, 3], item=(2, 2)), LoDTensor([1, 0, 0, 2, 0], [[2, 3]])), {}),
    ((ragged([], []), LoDTensor(vector(), [[]])), {}),
    ((ragged([1, 0], [0]), LoDTensor(vector(), [[0, 0]])), {}),
    ((ragged([2], item=(64,), dtype=np.float32), LoDTensor([1, 0], [[2]])), {}),
    ((ragged([2], [2, 1], dtype=np.float16), LoDTensor([1, 1, 0], [[3]])), {}),
    ((ragged([1], [2], item=(), dtype=np.int64), LoDTensor([0], [[1]])), {}),
    ((ragged([2], [2, 0]), LoDTensor([1, 0], [[2]])), {}),
]
SORTED = [
    ((ragged([3, 0, 2, 0]), vector(2, 1, 2, 0)), {}),
    ((ragged([3, 0, 2, 0]), np.array([2, np.nan, 2, 3.0])), {"descending": True}),
    ((ragged([2, 1], [2, 0, 3], item=()), vector(1, 0)), {}),
    ((ragged([2, 1], [2, 0, 3], item=(2, 2)), vector(7, 3, 5, dtype=np.int32)), {"level": 0}),
    (
        (ragged([2, 1], [2, 0, 3], item=()), LoDTensor(vector(2, 1, 1, 3, 2), [[2, 0, 3]])),
        {"level": -1, "descending": True},
    ),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3]), vector(2, 0, 1)), {"level": 1}),
    ((ragged([]), vector()), {}),
    ((ragged([0, 0]), [1, 0]), {}),
    ((ragged([3], item=(64,), dtype=np.float32), vector(4, 2, 2)), {"level": 0}),
    ((ragged([1, 2], dtype=np.float16), vector(5, 4)), {"descending": True}),
    ((ragged([3], item=(), dtype=np.int64), reals(3, dtype=np.float32)), {"level": 0}),
    ((ragged([0, 2, 1]), vector(3, 1, 2)), {}),
]


def _gradients(cases, name):
    for inputs, out, grad, attrs in with_gradient(cases, name):
        if out.dtype.kind == "f":
            yield ((inputs[0], grad, *inputs[1:]) if name == "sequence_slice" else (*inputs, grad)), attrs


SAMPLES = {
    "sequence_slice": SLICED,
    "sequence_slice_grad": [*_gradients(SLICED, "sequence_slice")],
    "sequence_select": SELECTED,
    "sequence_select_grad": [*_gradients(SELECTED, "sequence_select")],
    "sequence_sort": SORTED,
    "sequence_sort_grad": [*_gradients(SORTED, "sequence_sort")],
}
PADDLE = {
    "sequence_slice": (
        {"X": ragged([3, 1], dtype=np.float32), "Offset": np.array([[1], [0]]), "Length": np.array([[2], [0]])},
        {},
    )
}
