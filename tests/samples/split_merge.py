"""Samples of lodkit/ops/split_merge.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, vector

SPLITS = [
    ((ragged([2, 1, 3], item=(2,)), vector(0, 1, 0)), {}),
    ((ragged([0, 2, 0, 0, 1], item=()), np.array([[True], [True], [False], [True], [False]])), {}),
    ((ragged([2, 0, 1], [1, 0, 2], item=(2, 2)), np.array([False, True, True])), {}),
    ((ragged([2, 0, 2], [1, 0, 2, 3], item=(2,)), np.array([False, True, True, False])), {"level": 1}),
    ((ragged([1, 1], [2, 1], [1, 0, 2], item=()), vector(1, 0, 1)), {"level": 2}),
    ((ragged([2], [2, 1], [1, 0, 2], item=()), vector(1, 0, 1)), {"level": -1}),
    ((ragged([2], [2, 1], [1, 0, 2], item=()), vector(1, 0)), {"level": 1}),
    ((reals(4, 2), np.array([True, True, False, True])), {}),
    ((ragged([2, 3], item=(64,), dtype=np.float32), np.array([True, True])), {}),
    ((ragged([1, 2], dtype=np.float16, item=(3,)), np.array([False, False])), {}),
    ((ragged([1, 2], dtype=np.int64, item=()), np.array([False, True])), {}),
    ((ragged([0, 0]), np.array([False, True])), {}),
    ((ragged([]), np.zeros(0, bool)), {}),
    ((reals(0, 2), np.zeros(0, bool)), {}),
    ((ragged([1, 0, 2, 1, 0], item=(2,)), np.array([True, True, True, False, False])), {}),
]


def merges():
    import lodkit

    for (x, mask), attrs in SPLITS:
        yield (*lodkit.split_lod_tensor.definition(x, mask, **attrs), mask), attrs


SAMPLES = {"merge_lod_tensor": [*merges()], "split_lod_tensor": SPLITS}
ROWS = LoDTensor(array(6, 1), [[2, 1, 3]])
MASK = np.array([[0], [1], [0]], bool)
PARTS = {"InTrue": LoDTensor(array(1, 1), [[1]]), "InFalse": LoDTensor(array(5, 1), [[2, 3]])}
PADDLE = {
    "merge_lod_tensor": ({"X": ROWS, "Mask": MASK, **PARTS}, {"level": 0}),
    "split_lod_tensor": ({"X": ROWS, "Mask": MASK}, {"level": 0}),
}
