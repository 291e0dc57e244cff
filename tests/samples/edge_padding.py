"""Samples of lodkit/ops/edge_padding.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, vector

TWO_ONE = {"padding_width": 2, "end_padding_width": 1}
ADDED = [
    ((reals(5, 3), vector(3, 0, 2), reals(3), reals(3)), TWO_ONE),
    ((reals(4, 2, 2), vector(1, 3), reals(2, 2)), {"padding_width": 2}),
    ((reals(3), vector(2, 1, dtype=np.int32)), {}),
    ((reals(3, 2),), {"end_padding_width": 0}),
    ((reals(3), vector(3), np.array(0.5), np.array(2.0)), {}),
    ((reals(3, 64, dtype=np.float32), vector(1, 2), reals(64, dtype=np.float32)), {}),
    ((array(3, 4, dtype=np.float16), vector(1, 2), array(4, dtype=np.float16)), {}),
    ((array(3, 2, dtype=np.int64), vector(3), None, array(2, dtype=np.int64)), TWO_ONE),
    ((reals(0, 2), vector(), reals(2)), {}),
    ((reals(2, 2), vector(0, 2)), {"padding_width": 0}),
]
REMOVED = [
    ((reals(11, 3), vector(6, 5)), TWO_ONE),
    ((reals(7), vector(2, 5, dtype=np.int32)), {}),
    ((reals(4, 1, 3),), {"padding_width": 0, "end_padding_width": 1}),
    ((array(5, 2, dtype=np.float16), vector(5)), {"padding_width": 1}),
    ((array(5, 4, dtype=np.int32), vector(5)), TWO_ONE),
    ((reals(5, 64, dtype=np.float32), vector(2, 3)), {}),
    ((reals(0, 2), vector()), {}),
    ((reals(3, 3), vector(3, 0)), {"padding_width": 0}),
]
FILLED = [
    ((reals(3, 2), vector(1, 0, 2, 0)), {}),
    ((reals(3), vector(3, dtype=np.int32)), {}),
    ((reals(3, 2, 2), vector(0, 3)), {}),
    ((reals(0, 3), vector(0, 0)), {}),
    ((array(2, 2, dtype=np.float16), vector(0, 2)), {}),
    ((array(2, dtype=np.int64), vector(0, 2)), {}),
    ((reals(0), vector()), {}),
]


def with_grads(data, lengths):
    grown = np.maximum(lengths, 1).sum()
    return data, lengths, array(grown, *data.shape[1:], dtype=data.dtype)


SAMPLES = {
    "add_padding": ADDED,
    "gather_padding": REMOVED,
    "pad_empty_samples": FILLED,
    "pad_empty_samples_grad": [(with_grads(*inputs), {}) for inputs, _ in FILLED if inputs[0].dtype.kind == "f"],
    "remove_padding": REMOVED,
}
ROWS, LENGTHS = np.ones((4, 2), np.float32), np.array([2, 2], np.int32)
CAFFE2 = {
    "AddPadding": (ROWS, LENGTHS),
    "GatherPadding": (ROWS, LENGTHS),
    "PadEmptySamples": (LENGTHS, ROWS),
    "RemovePadding": (ROWS, LENGTHS),
}
