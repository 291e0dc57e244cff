"""Samples of lodkit/ops/sequence_arithmetic.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals

ONE = ragged([3, 0, 2])
TWO = ragged([3, 0, 1], [3, 2, 1, 0], item=(2, 3))
WIDE = ragged([5, 0, 12], item=(64,), dtype=np.float32)
LINE = ragged([0, 40, 5], item=(), dtype=np.float32)
HALVES = ragged([4, 0, 2], item=(4,), dtype=np.float16)


def by(*shape, dtype=np.float64):
    """Draw divisors far from 0."""
    return (reals(*shape) ** 2 + 0.5).astype(dtype)


FLOATS = [
    ((ONE, by(3, 5)), {}),
    ((ONE, by(3)), {"op": "div"}),
    ((ragged([0, 0]), by(2, 5)), {"op": "mul"}),
    ((ragged([]), by(0)), {}),
    ((ragged([1], item=(1,)), by(1, 1)), {"op": "sub"}),
    ((TWO, by(4, 2, 3)), {"op": "div"}),
    ((TWO, by(3)), {"op": "mul", "level": 0}),
    ((TWO, LoDTensor(by(4), [[3, 0, 1]])), {"op": "sub"}),
    ((ragged([2, 1], item=(0,)), by(2, 0)), {}),
    ((WIDE, by(3, 64, dtype=np.float32)), {"op": "mul"}),
    ((LINE, by(3, dtype=np.float32)), {"op": "mul"}),
    ((HALVES, array(3, 4, dtype=np.float16)), {}),
    ((HALVES, array(3, dtype=np.float16)), {"op": "mul"}),
    ((ragged([1, 1], [2, 0], [1, 2]), by(2)), {}),
]
INTEGERS = [
    ((ragged([2, 1], dtype=np.int64), array(2, 5, dtype=np.int64)), {"op": "mul"}),
    ((ragged([2, 1], item=(), dtype=np.int32), array(2, dtype=np.int64)), {"op": "sub"}),
]
ENCODED = [
    ragged([3, 1, 2], item=(4,)),
    ragged([0, 4, 0, 0, 2, 0], item=(2,)),
    ragged([0, 0], item=(4,)),
    ragged([], item=(6,)),
    ragged([3, 1, 2], [3, 2, 4, 1, 0, 3], item=(3, 2)),
    ragged([2, 1], item=(0,)),
    ragged([5, 0, 12], item=(64,), dtype=np.float32),
    ragged([4, 0, 2], item=(20,), dtype=np.float16),
    ragged([1], [2], [3, 1], item=(4,)),
]
SAMPLES = {
    "per_sequence": FLOATS + INTEGERS,
    "per_sequence_values_grad": [((x, values, array(*x.shape, dtype=x.dtype)), attrs) for (x, values), attrs in FLOATS],
    "add_position_encoding": [((x,), {"alpha": 0.5, "beta": 1 + i}) for i, x in enumerate(ENCODED)]
    + [((ENCODED[4],), {"level": 0}), ((reals(2, 3, 4),), {}), ((reals(0, 3, 2, 2, dtype=np.float32),), {})],
}
PADDLE = {"add_position_encoding": ({"X": LoDTensor(np.ones((3, 2)), [[1, 2]])}, {"alpha": 0.5})}
