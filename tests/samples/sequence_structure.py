"""Samples of lodkit/ops/sequence_structure.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, with_gradient

Y = ragged([2, 0, 3], item=(), dtype=np.int64)  # of no floating numbers, which would have a gradient
DEEP = ragged([2, 0, 1], [2, 0, 3], item=(), dtype=np.int64)
NOTHING = ragged([], item=(), dtype=np.int64)
FLAT = LoDTensor(np.arange(3.0))
EXPANDED = [
    ((reals(3, 2), Y), {}),
    ((ragged([0, 2, 1]), Y), {}),
    ((ragged([2, 0, 1], [2, 0, 3], item=(2, 2)), DEEP), {"ref_level": 0}),
    ((ragged([1, 1, 1], [2, 0, 1], [1, 0, 2]), DEEP), {}),
    ((reals(3, 1, 5), DEEP), {"ref_level": 0}),
    ((reals(3), ragged([0, 0, 0], dtype=np.int64)), {"ref_level": -1}),
    ((reals(0, 3), NOTHING), {}),
    ((ragged([]), NOTHING), {}),
    ((FLAT, Y), {}),
    ((reals(1, 64, dtype=np.float32), ragged([40], dtype=np.int64)), {}),
    ((array(3, 5, dtype=np.float16), Y), {}),
    ((ragged([2, 1, 0], dtype=np.float16), Y), {}),
    ((array(3, dtype=np.int64), Y), {}),
]
EXPANDED_AS = [
    ((reals(3, 2), Y), {}),
    ((reals(3, 2, 2), DEEP), {}),
    ((reals(3), DEEP), {"level": 0}),
    ((ragged([2, 1], item=()), Y), {}),
    ((reals(2, 2), ragged([0, 0], dtype=np.int64)), {}),
    ((reals(0), NOTHING), {}),
    ((reals(2, 64, dtype=np.float32), ragged([1, 4], dtype=np.int64)), {}),
    ((array(2, 3, dtype=np.float16), ragged([3, 1], dtype=np.int64)), {}),
    ((array(2, dtype=np.int64), ragged([0, 4])), {}),
    ((reals(3, 2), ragged([2], [1, 2], [2, 3, 0], item=(2, 2), dtype=np.float16)), {}),
    ((reals(1, 2), ragged([3], dtype=np.int64)), {}),
]
REVERSED = [
    ((ragged([0, 3, 0, 0, 1, 0]),), {}),
    ((ragged([2, 0, 1], [2, 0, 3], item=()),), {}),
    ((ragged([2, 0, 1], [2, 0, 3], item=(2, 3)),), {"level": 0}),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3]),), {"level": 0}),
    ((ragged([2, 1], [1, 0, 2], [2, 1, 3]),), {"level": 1}),
    ((ragged([]),), {}),
    ((ragged([0, 0]),), {}),
    ((ragged([7], item=(64,), dtype=np.float32),), {}),
    ((ragged([3, 2], item=(64,), dtype=np.float16),), {}),
    ((ragged([4], item=(), dtype=np.int64),), {}),
]
NESTED = ragged([2, 0, 1], [2, 0, 3], item=(2,)), ragged([2, 0, 1], [0, 1, 2], item=(2,))
CONCATENATED = [
    ((ragged([0, 2, 0, 3]), ragged([1, 3, 0, 0])), {}),
    ((ragged([2, 1], item=()), ragged([0, 1], item=()), ragged([3, 0], item=())), {}),
    ((NESTED[0], ragged([0, 1, 1], [2, 1], item=(2,))), {}),
    (NESTED, {"level": 1}),
    ((ragged([1, 1], [2, 0], [1, 2]), ragged([1, 1], [1, 1], [0, 2])), {"level": -2}),
    ((ragged([2, 1], item=(2, 3)), ragged([2, 1], item=(1, 3))), {"axis": 1}),
    ((ragged([1], [2], item=(2, 3)), ragged([1], [2], item=(2, 1))), {"axis": -1}),
    ((ragged([2, 1]),), {}),
    ((ragged([]), ragged([])), {}),
    ((ragged([0, 0]), ragged([0, 0])), {}),
    ((ragged([2], item=(64,), dtype=np.float32), ragged([3], item=(64,), dtype=np.float32)), {}),
    ((ragged([2], dtype=np.float16), ragged([1], dtype=np.float16)), {}),
    ((ragged([2], item=(), dtype=np.int64), ragged([1], item=(), dtype=np.int64)), {}),
]


def _gradients(cases, name, first=False):
    for inputs, out, grad, attrs in with_gradient(cases, name):
        if out.dtype.kind == "f":
            yield ((grad, *inputs) if first else (*inputs, grad)), attrs


SAMPLES = {
    "sequence_expand": EXPANDED,
    "sequence_expand_grad": [*_gradients(EXPANDED, "sequence_expand")],
    "sequence_expand_as": EXPANDED_AS,
    "sequence_reverse": REVERSED,
    "sequence_concat": CONCATENATED,
    "sequence_concat_grad": [*_gradients(CONCATENATED, "sequence_concat", first=True)],
}
ROWS = LoDTensor(np.ones((3, 2), np.float32), [[1, 2]])
PADDLE = {
    "sequence_expand": ({"X": ROWS, "Y": ROWS}, {"ref_level": 0}),
    "sequence_expand_as": ({"X": np.ones((2, 2), np.float32), "Y": ROWS}, {}),
    "sequence_reverse": ({"X": ROWS}, {}),
    "sequence_concat": ({"X": [ROWS, ROWS]}, {}),
}
