"""Samples of lodkit/ops/optimizers.py."""

from __future__ import annotations

import numpy as np

from lodkit import SelectedRows

from ._make import GRADIENTS, reals, rows

REPEATED, NONE, WIDE, HALF = GRADIENTS[1], GRADIENTS[2], GRADIENTS[6], GRADIENTS[7]
SINGLE = rows(2, 2, 5, dtype=np.float32)
# Every gradient is merged by one of adagrad and sgd, which differ by a state, and stepped row by row by the other.
MERGED, ONE_BY_ONE = ([(grad, duplicates) for grad in GRADIENTS] for duplicates in ("merge", "sequential"))
FEW = [(REPEATED, "merge"), (WIDE, "sequential"), (HALF, "merge"), (NONE, "sequential")]


def optimizer_cases(states, gradients=FEW, rowwise=False, **attrs):
    """Make sparse and dense cases of an optimizer; the last state of a row-wise one is a vector."""
    for grad, duplicates in gradients:
        yield with_states(grad.shape, grad.dtype, grad, states, rowwise), {"duplicates": duplicates, **attrs}
    for shape, dtype in (((6, 3), np.float64), ((0, 3), np.float32), ((4,), np.float16)):
        yield with_states(shape, dtype, reals(*shape, dtype=dtype), states, rowwise), {**attrs, "lr": np.array([0.1])}


def with_states(shape, dtype, grad, states, rowwise=False):
    """Make a parameter, its gradient, and non-negative states."""
    shapes = [shape] * states
    if rowwise:
        shapes[-1] = shape[:1]
    return reals(*shape, dtype=dtype), grad, *(np.asarray(np.abs(reals(*s, dtype=dtype))) for s in shapes)


def paired(param, grad, squared, linear):
    """Stack both accumulators of ftrl."""
    return param, grad, np.stack([squared, linear], axis=-1)


SCALAR = {"lr": 0.1}
DECAYS = {"lr": 0.5, "weight_decay": 0.1}
SELECTED = SelectedRows([7, 2, 5], reals(3, 2), 10)
SAMPLES = {
    "adagrad": [
        *optimizer_cases(1, [*MERGED, (REPEATED, "sequential"), (HALF, "sequential")], lr=0.5, epsilon=1e-3),
        (with_states((), np.float64, reals(), 1), SCALAR),
        (with_states((6, 3), np.float64, REPEATED, 1), DECAYS),
        (with_states((6, 3), np.float64, REPEATED, 1), {**DECAYS, "lazy": True, "duplicates": "sequential"}),
        (with_states((6, 3), np.float64, REPEATED, 1), {"lr": 0.5, "decay": 0.9, "lazy": True}),
        (with_states((6, 3), np.float64, REPEATED, 1), {"lr": 0.5, "clip_value": 0.3, "maximize": True}),
        (with_states((6, 3), np.float64, REPEATED, 1), {"lr": 0.5, "mask": np.arange(6) < 2}),
    ],
    "decayed_adagrad": list(optimizer_cases(1, FEW[:1], lr=0.5, epsilon=1e-3)),
    "proximal_gd": list(optimizer_cases(0, FEW[:1], lr=0.5, l1=0.2, l2=0.1)),
    "proximal_adagrad": list(optimizer_cases(1, FEW[:1], lr=0.5, l1=0.2)),
    "ftrl": [
        *optimizer_cases(2, lr=0.5, l1=0.2, l2=0.1),
        (with_states((), np.float64, reals(), 2), SCALAR),
        (with_states((6, 3), np.float64, REPEATED, 2), {"lr": 0.5, "beta": 0.0}),
        *((paired(*inputs), attrs) for inputs, attrs in optimizer_cases(2, FEW[:2], lr=0.5, l1=0.2)),
        *((with_states((6, 3), np.float64, REPEATED, 2), {"lr": 0.5, "l1": 0.2, "lr_power": p}) for p in (-0.6, 0.0)),
        (paired(*with_states((6, 3), np.float64, REPEATED, 2)), {"lr": 0.5, "l1": 0.2, "lr_power": -0.6}),
        (with_states((4,), np.float32, reals(4, dtype=np.float32), 2), {"lr": 0.5, "lr_power": -1.0}),
    ],
    "rowwise_adagrad": [
        *optimizer_cases(1, [*FEW, (GRADIENTS[5], "merge")], rowwise=True, lr=0.5, epsilon=1e-3),
        (with_states((6, 3), np.float64, REPEATED, 1, True), DECAYS),
        (with_states((6, 3), np.float64, REPEATED, 1, True), {**DECAYS, "lazy": True, "duplicates": "sequential"}),
        (with_states((6, 80), np.float32, reals(6, 80, dtype=np.float32), 1, True), DECAYS),
    ],
    "sgd": [
        *optimizer_cases(0, [*ONE_BY_ONE, (REPEATED, "merge"), (HALF, "merge")], lr=0.5),
        (with_states((), np.float64, reals(), 0), SCALAR),
        ((SELECTED, SelectedRows([5, 5], reals(2, 2), 10)), SCALAR),
        ((SELECTED, SelectedRows([5, 5], reals(2, 2), 10)), {"lr": 0.1, "clip_norm": 0.5}),
        ((SELECTED, reals(10, 2)), SCALAR),
    ],
}
_ROWS = np.array([1, 1]), np.ones((2, 4), np.float32)
CAFFE2 = {
    "Adagrad": (np.ones(3), np.ones(3), np.ones(3), np.array([-0.1])),
    "SparseAdagrad": (np.ones((3, 1)), np.ones((3, 1)), np.array([1, 1]), np.ones((2, 1)), np.array([-0.1])),
    "RowWiseSparseAdagrad": (np.ones((3, 1)), np.ones(3), np.array([1, 1]), np.ones((2, 1)), np.array([-0.1])),
    "Ftrl": (np.ones((3, 2)), np.ones((3, 2, 2)), np.ones((3, 2))),
    "SparseFtrl": (*(np.ones(s, np.float32) for s in ((3, 4), (3, 4, 2))), *_ROWS, np.array([0.1])),
}


def paddle_inputs(*states, **numbers):
    """Slots of a parameter, its SelectedRows gradient, states and numbers."""
    grad = SelectedRows([1, 1], np.ones((2, 2)), 4)
    slots = {"Param": np.ones((4, 2)), "Grad": grad, "LearningRate": np.array([0.1])}
    return slots | {s: np.ones((4, 2)) for s in states} | {s: np.array([x]) for s, x in numbers.items()}


POWERS = {"Beta1Pow": 0.9, "Beta2Pow": 0.999}
PADDLE = {
    "sgd": (paddle_inputs(), {}),
    "adagrad": (paddle_inputs("Moment"), {"epsilon": 1e-6}),
    "decayed_adagrad": (paddle_inputs("Moment"), {"decay": 0.9}),
    "proximal_gd": (paddle_inputs(), {"l1": 0.1}),
    "proximal_adagrad": (paddle_inputs("Moment"), {"l1": 0.1}),
    "ftrl": (paddle_inputs("SquaredAccumulator", "LinearAccumulator"), {"l1": 0.1}),
    "momentum": (paddle_inputs("Velocity"), {"mu": 0.9}),
    "lars_momentum": (paddle_inputs("Velocity"), {"mu": 0.9}),
    "rmsprop": (paddle_inputs("MeanSquare", "Moment", "MeanGrad"), {"centered": True}),
    "adadelta": (paddle_inputs("AvgSquaredGrad", "AvgSquaredUpdate"), {}),
    "adamax": (paddle_inputs("Moment", "InfNorm", Beta1Pow=0.9), {}),
    "adam": (paddle_inputs("Moment1", "Moment2", **POWERS), {}),
    "adamw": (paddle_inputs("Moment1", "Moment2", **POWERS), {"with_decay": True}),
    "lamb": (paddle_inputs("Moment1", "Moment2", **POWERS), {"weight_decay": 0.1}),
    "dpsgd": (paddle_inputs(), {"sigma": 0.1}),
}
