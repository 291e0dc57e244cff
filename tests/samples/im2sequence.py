"""Samples of lodkit/ops/im2sequence.py."""

from __future__ import annotations

import numpy as np

from ._make import array, reals, with_gradient

IMAGES = [
    ((reals(2, 1, 3, 3),), {"kernels": (2, 2)}),
    ((reals(1, 2, 4, 3),), {"kernels": (3, 2), "strides": (2, 1), "paddings": (1, 0, 2, 1)}),
    ((reals(2, 3, 5, 4, dtype=np.float32),), {"kernels": [2, 3], "strides": [1, 3], "paddings": [0, 2, 0, 1]}),
    ((array(1, 1, 3, 2, dtype=np.float16),), {"kernels": (2, 2), "paddings": (1, 1, 1, 1)}),
    ((array(2, 1, 2, 3, dtype=np.int64),), {"kernels": (1, 2)}),
    ((np.full((1, 1, 2, 2), 2**64 - 1, np.uint64),), {"kernels": (2, 1), "paddings": (1, 0, 0, 0)}),
    ((reals(1, 1, 1, 2),), {"kernels": (4, 2), "strides": (3, 2), "paddings": (5, 0, 5, 0)}),
    ((reals(0, 2, 3, 3),), {"kernels": (2, 2)}),
    ((reals(2, 0, 3, 3),), {"kernels": (2, 2)}),
    ((reals(1, 1, 0, 2),), {"kernels": (1, 1), "paddings": (1, 0, 1, 0)}),
]
SAMPLES = {
    "im2sequence": IMAGES,
    "im2sequence_grad": [((x, g), attrs) for (x,), _, g, attrs in with_gradient(IMAGES, "im2sequence")],
}
PADDLE = {"im2sequence": ({"X": reals(2, 1, 3, 3)}, {"kernels": [2, 2], "strides": [1, 1], "paddings": [0, 0, 0, 0]})}
