"""Samples of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, vector

PADS = [
    ((ragged([2, 0, 3, 1], item=(3,)), reals(3)), {}),
    ((ragged([0, 4, 0], item=(2, 2)),), {"max_length": 5, "side": "left"}),
    ((ragged([3, 0, 1, 5], item=()), -1.5), {"max_length": 3, "truncate": True}),
    ((ragged([3, 1, 2], item=(2,)), reals(2)), {"max_length": 2, "truncate": True, "side": "left"}),
    ((ragged([2, 0, 1], [2, 1, 3], item=(2,)), reals(1)), {"side": "left"}),
    ((ragged([1, 1], [0, 2], [3, 1], item=()),), {"max_length": 4}),
    ((ragged([4, 1], item=(64,), dtype=np.float32), reals(64, dtype=np.float32)), {}),
    ((ragged([2, 3], dtype=np.float16, item=(3,)), np.inf), {"side": "left"}),
    ((ragged([1, 3], dtype=np.int64, item=()), 7), {"max_length": 4, "side": "left"}),
    ((ragged([2, 1], dtype=np.int32, item=(1,)), vector(-3.0, dtype=np.float64)), {}),
    ((ragged([0, 0], item=(2,)), reals()), {"max_length": 2}),
    ((ragged([], item=(2,)),), {}),
    ((ragged([2], item=(2,)),), {"max_length": 0, "truncate": True}),
]
UNPADS = [
    ((reals(3, 3, 2), vector(3, 0, 2)), {}),
    ((reals(3, 4), vector(0, 4, 1, dtype=np.int32)), {"side": "left"}),
    ((LoDTensor(reals(3, 2, 2, 2), [[1, 0, 2]]), LoDTensor(vector(1, 0, 2), [[1, 0, 2]])), {"side": "left"}),
    ((LoDTensor(reals(3, 2), [[2], [0, 3]]), vector(2, 1, 0)), {}),
    ((reals(2, 3), LoDTensor(vector(1, 3), [[2]])), {}),
    ((reals(2, 3, 64, dtype=np.float32), vector(0, 3)), {}),
    ((array(2, 3, 3, dtype=np.float16), vector(2, 3)), {"side": "left"}),
    ((array(1, 3, dtype=np.int64), vector(2)), {}),
    ((reals(2, 0, 2), vector(0, 0)), {}),
    ((reals(0, 3), vector()), {"side": "left"}),
]


def pad_grads(by_pad):
    """Yield cases of the gradients: forward inputs and the gradient of the result."""
    import lodkit

    for inputs, attrs in PADS:
        x, *pad = lodkit.sequence_pad._accept(inputs)
        if x.dtype.kind == "f" and (pad or not by_pad):
            out = lodkit.sequence_pad.definition(x, **attrs)[0]
            grad = array(*(out.values if isinstance(out, LoDTensor) else out).shape, dtype=x.dtype)
            keep = {k: v for k, v in attrs.items() if k != "truncate"}
            yield ((x, pad[0].astype(x.dtype), grad) if by_pad else (x, grad)), keep


def unpad_grads():
    import lodkit

    for (x, lengths), attrs in UNPADS:
        if x.dtype.kind == "f":
            rows = lodkit.sequence_unpad.definition(x, lengths, **attrs).values
            yield (x, lengths, array(*rows.shape, dtype=rows.dtype)), attrs


SAMPLES = {
    "sequence_pad": PADS,
    "sequence_pad_grad": [*pad_grads(by_pad=False)],
    "sequence_pad_value_grad": [*pad_grads(by_pad=True)],
    "sequence_unpad": UNPADS,
    "sequence_unpad_grad": [*unpad_grads()],
}
X = LoDTensor(array(6, 2), [[2, 0, 3, 1]])
PADDLE = {
    "sequence_pad": ({"X": X, "PadValue": array(1)}, {"padded_length": -1}),
    "sequence_unpad": ({"X": array(3, 4), "Length": vector(2, 0, 3)}, {}),
}
