"""Samples of lodkit/ops/optimizers.py."""

from __future__ import annotations

import numpy as np

from lodkit import SelectedRows

from ._make import GRADIENTS, reals


def optimizer_cases(states, **attrs):
    for grad in GRADIENTS:
        param = reals(*grad.shape, dtype=grad.dtype)
        state = [np.abs(reals(*grad.shape, dtype=grad.dtype)) for _ in range(states)]
        for duplicates in ("merge", "sequential"):
            yield (param, grad, *state), {"lr": 0.5, "duplicates": duplicates, **attrs}
    for shape, dtype in (((6, 3), np.float64), ((0, 3), np.float32), ((4,), np.float16), ((), np.float64)):
        param, grad = reals(*shape, dtype=dtype), reals(*shape, dtype=dtype)
        state = [np.abs(reals(*shape, dtype=dtype)) for _ in range(states)]
        yield (param, grad, *state), {"lr": np.array([0.1]), **attrs}


SELECTED = SelectedRows([7, 2, 5], reals(3, 2), 10)
SAMPLES = {
    "adagrad": list(optimizer_cases(1, epsilon=1e-3)),
    "sgd": list(optimizer_cases(0))
    + [((SELECTED, SelectedRows([5, 5], reals(2, 2), 10)), {"lr": 0.1}), ((SELECTED, reals(10, 2)), {"lr": 0.1})],
}
CAFFE2 = {
    "Adagrad": (np.ones(3), np.ones(3), np.ones(3), np.array([-0.1])),
    "SparseAdagrad": (np.ones((3, 1)), np.ones((3, 1)), np.array([1, 1]), np.ones((2, 1)), np.array([-0.1])),
}
_GRAD = SelectedRows([1, 1], np.ones((2, 2)), 4)
PADDLE = {
    "sgd": ({"Param": np.ones((4, 2)), "Grad": _GRAD, "LearningRate": np.array([0.1])}, {}),
    "adagrad": (
        {"Param": np.ones((4, 2)), "Grad": _GRAD, "Moment": np.ones((4, 2)), "LearningRate": np.array([0.1])},
        {"epsilon": 1e-6},
    ),
}
