"""Samples of lodkit/ops/smart_decay.py."""

from __future__ import annotations

import numpy as np

from ._make import reals
from .optimizers import HALF, NONE, REPEATED


def counting(grad, **attrs):
    inputs = reals(*grad.shape, dtype=grad.dtype), grad, *(np.abs(reals(*grad.shape, dtype=grad.dtype)) for _ in "12")
    return (*inputs, np.arange(grad.shape[0]) % 4), {"lr": 0.5, "iteration": 9, "epsilon": 1e-3, **attrs}


SAMPLES = {
    "smart_decay_adam": [
        counting(REPEATED),
        counting(NONE),
        counting(HALF, duplicates="sequential"),
        counting(reals(6, 3), beta1=0.0),
        counting(REPEATED, weight_decay=0.1),
        ((*counting(reals(4, 3))[0][:-1], np.array([-(2**63), 0, 2**63 - 1, 5])), {"lr": 0.5, "iteration": 9}),
    ]
}
_TABLES = [np.ones((3, 3), np.float32) for _ in range(3)]
CAFFE2 = {
    "SmartDecaySparseAdam": (
        *_TABLES,
        np.array([4, 0, 2]),
        np.array([1, 1]),
        np.ones((2, 3), np.float32),
        np.array([-0.1]),
        np.array([4]),
    )
}
