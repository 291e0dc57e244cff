"""Samples of lodkit/ops/sequence_conv.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals, with_gradient


def conv(x, start, length, columns=3, padded=False):
    """Make a call of sequence_conv with filter and padding."""
    make = array if x.dtype == np.float16 else reals
    width = int(np.prod(x.values.shape[1:]))
    first = -(length // 2) if start is None else start
    rows = max(0, -first) + max(0, first + length - 1)
    inputs = [x, make(length * width, columns, dtype=x.dtype)]
    if padded:
        inputs.append(make(rows, *x.values.shape[1:], dtype=x.dtype))
    return tuple(inputs), {"context_start": start, "context_length": length}


CONV = [
    conv(ragged([3, 0, 1, 4]), -1, 3),
    conv(ragged([0, 3, 0, 0, 2, 5, 0]), -1, 3, padded=True),
    conv(ragged([2, 1], [3, 0, 2], item=(2,)), None, 4, padded=True),
    conv(ragged([2], [1, 2], [2, 1, 4], item=()), 0, 2, 1),
    conv(ragged([1, 2, 4, 3], item=(2, 2)), 2, 3, 2, padded=True),
    conv(ragged([1, 3, 2, 6], item=(2,)), -3, 2, 2, padded=True),
    conv(ragged([5, 2], item=(64,), dtype=np.float32), -1, 3, 8, padded=True),
    conv(ragged([4, 1], item=(2,), dtype=np.float16), 0, 2, 2, padded=True),
    conv(ragged([4]), 0, 1, padded=True),
    conv(ragged([]), -1, 2, padded=True),
    conv(ragged([0, 0]), 1, 2),
    conv(ragged([2, 1], item=(0,)), 0, 2),
]
ROW_CONV = [
    ((ragged([3, 0, 1, 4]), reals(2, 5)), {}),
    ((ragged([0, 0, 3, 0, 5, 0], item=()), reals(4)), {}),
    ((ragged([2, 1], [3, 0, 2], item=(2, 2)), reals(3, 2, 2)), {}),
    ((ragged([1], [2], [2, 4], item=(2,)), reals(1, 2)), {}),
    ((ragged([5, 2], item=(64,), dtype=np.float32), reals(3, 64, dtype=np.float32)), {}),
    ((ragged([4, 1], item=(2,), dtype=np.float16), array(2, 2, dtype=np.float16)), {}),
    ((ragged([]), reals(2, 5)), {}),
    ((ragged([0, 0], item=(2,)), reals(0, 2)), {}),
]


def _grads():
    for (x, weight, *padding), _, grad, attrs in with_gradient(CONV, "sequence_conv"):
        yield (x, weight, grad, *padding), attrs


SAMPLES = {
    "row_conv": ROW_CONV,
    "row_conv_grad": [((*inputs, grad), {}) for inputs, _, grad, _ in with_gradient(ROW_CONV, "row_conv")],
    "sequence_conv": CONV,
    "sequence_conv_grad": [*_grads()],
}
PADDLE = {
    "row_conv": ({"X": ragged([3, 1], item=(2,)), "Filter": reals(2, 2)}, {}),
    "sequence_conv": ({"X": ragged([3, 1], item=(2,)), "Filter": reals(4, 3)}, {"contextLength": 2, "contextStart": 0}),
}
