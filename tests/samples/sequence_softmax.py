"""Samples of lodkit/ops/sequence_softmax.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged

SPECIAL = LoDTensor(
    np.array([[1, np.nan], [np.nan, -np.inf], [3, 2], [-np.inf, np.inf], [-np.inf, np.inf], [-np.inf, 1e9], [7, 7]]),
    [[3, 3, 0, 1]],
)
RAGGED = [
    (ragged([3, 1, 2]), {}),
    (ragged([0, 4, 0, 0, 2, 0], item=()), {}),
    (ragged([0, 0]), {}),
    (ragged([]), {}),
    (ragged([1], item=(1,)), {}),
    (ragged([3, 1, 2], [3, 2, 4, 1, 0, 3], item=(2, 3)), {}),
    (ragged([3, 1, 2], [3, 2, 4, 1, 0, 3], item=()), {"level": 0}),
    (ragged([2, 0], [1, 2], [2, 1, 0], item=(1,)), {"level": -2}),
    (ragged([2, 1], item=(0,)), {}),
    (ragged([70, 2, 0], item=(), dtype=np.float32), {}),
    (ragged([9, 1], item=(), dtype=np.float16), {}),
]
WIDE = [(ragged([5, 0, 12], item=(64,), dtype=np.float32), {}), (ragged([4, 2], item=(20,), dtype=np.float16), {})]
SPECIALS = [(SPECIAL, {}), (SPECIAL.with_values(SPECIAL.values[:, 1]), {})]
FORWARD = [((x,), attrs) for x, attrs in RAGGED + SPECIALS]
SOFTMAX = FORWARD + [((x,), attrs) for x, attrs in WIDE]


def _backward(name, cases):
    import lodkit

    for (x,), attrs in cases:
        out = lodkit.OPS[name].definition(x, **attrs)
        yield (out, array(*x.shape, dtype=x.dtype)), attrs


SAMPLES = {
    "sequence_softmax": SOFTMAX,
    "sequence_log_softmax": FORWARD,
    "sequence_softmax_grad": [*_backward("sequence_softmax", SOFTMAX)],
    "sequence_log_softmax_grad": [*_backward("sequence_log_softmax", FORWARD)],
}
PADDLE = {"sequence_softmax": ({"X": LoDTensor(np.ones((3, 1)), [[1, 2]])}, {})}
