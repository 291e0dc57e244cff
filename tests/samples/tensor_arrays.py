"""Samples of lodkit/ops/tensor_arrays.py."""

from __future__ import annotations

import numpy as np

import lodkit

from ._make import array, ragged, reals, vector

BATCHES = [
    (ragged([2, 1, 3], item=(2,)), 0, {}),
    (ragged([2, 0, 2, 1, 2, 0], item=()), 0, {"reverse": True}),
    (ragged([2, 0, 1], [4, 0, 5], item=(2,)), 0, {}),
    (ragged([2, 0, 1], [4, 0, 5], item=(2,)), 1, {}),
    (ragged([2, 1, 3], [1, 0, 2, 3, 1, 2], item=()), 0, {"reverse": True}),
    (ragged([1, 2], [2, 0, 2], [1, 0, 3, 1], item=()), 1, {}),
    (ragged([1, 2], [2, 0, 2], [1, 0, 3, 1], item=(3,)), 0, {}),
    (ragged([3, 1], item=(64,), dtype=np.float32), 0, {}),
    (ragged([1, 2], item=(3,), dtype=np.float16), 0, {}),
    (ragged([1, 2], item=(), dtype=np.int64), 0, {}),
    (ragged([2, 1], item=(0,)), 0, {}),
    (ragged([0, 0]), 0, {}),
    (ragged([], [], item=()), 0, {}),
]


def taken_apart():
    for x, level, attrs in BATCHES:
        yield (x, lodkit.lod_rank_table.definition(x, level=level)), attrs


APART = [*taken_apart()]
TOGETHER = [((table, *lodkit.lod_tensor_to_array.definition(x, table, **attrs)), attrs) for (x, table), attrs in APART]
ROWS, SEQUENCES = (reals(2, 3), reals(1, 3), array(4, 3, dtype=np.float64)), (ragged([2, 1]), ragged([0]), ragged([3]))
SAMPLES = {
    "lod_tensor_to_array": APART,
    "array_to_lod_tensor": TOGETHER,
    "write_to_array": [
        ((ROWS[0],), {"index": 0}),
        (ROWS, {"index": 1}),
        (ROWS, {"index": 2}),
        (SEQUENCES, {"index": 0}),
        ((vector(1, 2), vector(3)), {"index": 1}),
        (ROWS, {"index": 4, "fill": True}),
        (SEQUENCES, {"index": 3, "fill": True}),
    ],
    "read_from_array": [(ROWS, {"index": 0}), (ROWS, {"index": 2}), (SEQUENCES, {"index": 1})],
    "lod_array_length": [(ROWS, {}), (SEQUENCES[:1], {})],
}
(X, TABLE), _ = APART[0]
PADDLE = {
    "lod_tensor_to_array": ({"X": X, "RankTable": TABLE}, {}),
    "array_to_lod_tensor": ({"X": list(TOGETHER[0][0][1:]), "RankTable": TABLE}, {}),
    "write_to_array": ({"X": ROWS[0], "I": vector(1), "Out": list(ROWS[1:])}, {}),
    "read_from_array": ({"X": list(ROWS), "I": vector(1)}, {}),
    "lod_array_length": ({"X": list(SEQUENCES)}, {}),
}
