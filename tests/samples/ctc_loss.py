"""Samples of lodkit/ops/ctc_loss.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, rng


def pair(frames, labels, classes=4, blank=0, dtype=np.float64, kind=np.int64):
    """Logits, and labels that are not the blank."""
    numbers = (blank + rng.integers(1, classes, sum(labels[-1]))) % classes
    return ragged(*frames, item=(classes,), dtype=dtype), LoDTensor(numbers.astype(kind), [list(n) for n in labels])


def repeated(*labels, frames, **more):
    """Labels that repeat, which take a blank between them."""
    return pair([[frames]], [[len(labels)]], **more)[0], LoDTensor(np.array(labels), [[len(labels)]])


ODD = np.zeros((6, 3))
ODD[0, 1], ODD[2, 2], ODD[4] = -np.inf, np.nan, [np.inf, 0, np.inf]
CASES = [
    (pair([[5, 0, 3, 4]], [[2, 0, 0, 3]]), {}),
    (repeated(1, 1, 2, 1, 1, frames=9), {}),
    (repeated(3, 3, 2, frames=4), {"norm_by_times": True}),  # one path
    (pair([[2, 3, 0, 0]], [[4, 1, 0, 1]]), {"zero_infinity": True, "norm_by_times": True}),  # too few frames
    (pair([[]], [[]]), {}),
    (pair([[2, 1], [4, 0, 6]], [[2, 1], [1, 0, 2]], 5, 4), {"blank": 4}),
    (pair([[2, 1], [2, 2, 6]], [[2, 1], [1, 2, 1]], 3, 1, kind=np.int32), {"level": 0, "blank": 1}),
    (pair([[40, 12]], [[17, 4]], 20, dtype=np.float32), {}),
    (pair([[4, 2]], [[2, 1]], dtype=np.float16), {}),
    (pair([[3]], [[0]], 1), {}),
    ((LoDTensor(ODD, [[2, 2, 2]]), LoDTensor(np.array([1, 1, 1]), [[1, 1, 1]])), {}),
]


def backward(inputs, attrs):
    attrs = {name: value for name, value in attrs.items() if name != "zero_infinity"}
    logits = inputs[0]
    count = len(logits.row_offsets(attrs.get("level", -1))) - 1
    return (*inputs, array(count, dtype=logits.dtype)), attrs


SAMPLES = {
    "ctc_loss": CASES,
    "ctc_loss_grad": [*(backward(*case) for case in CASES), backward(CASES[0][0], {"norm_by_times": "gradient"})],
}
LOGITS, LABELS = pair([[3, 2]], [[1, 1]], 3, dtype=np.float32)
PADDLE = {"warpctc": ({"Logits": LOGITS, "Label": LABELS.with_values(LABELS.values.reshape(-1, 1))}, {})}
