"""Samples of lodkit/ops/lengths.py."""

from __future__ import annotations

import numpy as np

from lodkit import OPS

from ._make import array, reals, vector

TOPS = [
    ((np.array([1.0, 3.0, 2.0, 3.0, 5.0]), vector(4, 0, 1)), {"k": 2}),
    ((reals(50), vector(1, 40, 9, dtype=np.int32)), {"k": 5}),
    ((np.array([2.0, np.nan, np.inf, np.nan, -np.inf, -0.0, 0.0, np.nan]), vector(5, 3)), {"k": 4}),
    ((array(7, dtype=np.float16), vector(7)), {"k": 3}),
    ((array(9, dtype=np.int64), vector(3, 6)), {"k": 1}),
    ((np.empty(0, np.float32), vector(0, 0)), {"k": 2}),
    ((np.empty(0), vector()), {"k": 1}),
]


def _gradients():
    for (values, lengths), attrs in TOPS:
        if values.dtype.kind == "f":
            top, indices = OPS["lengths_top_k"].definition(values, lengths, **attrs)
            yield (values, lengths, indices, array(*top.shape, dtype=values.dtype)), {}


SPLITS = [vector(9, 5, 1, 0), vector(), vector(7, 2, dtype=np.int32)]
SAMPLES = {
    "lengths_top_k": TOPS,
    "lengths_top_k_grad": list(_gradients()),
    "lengths_split": [((x,), {"n_split": 3}) for x in SPLITS] + [((SPLITS[0],), {"n_split": 1})],
}
_LENGTHS = np.array([1, 2], np.int32)
CAFFE2 = {"LengthsTopK": (np.array([1.0, 2.0, 3.0], np.float32), _LENGTHS), "LengthsSplit": (_LENGTHS, np.array([2]))}
