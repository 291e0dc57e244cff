"""Samples of lodkit/ops/moment_optimizers.py."""

from __future__ import annotations

import numpy as np

from . import ALL_TYPES
from ._make import reals
from .optimizers import HALF, NONE, REPEATED, SINGLE, WIDE, with_states

ONE_BY_ONE = {"duplicates": "sequential", "lazy": True}


LAZY = {"lazy": True}


def cases(states, rowwise=False, **attrs):
    """Row by row in float32 and float16, whose kernels are others; merged in momentum's samples.

    In float16 a rule of several states is sampled with LODKIT_TEST_TYPES=all.
    """
    listed = [(REPEATED, {}), (NONE, {}), (REPEATED, LAZY), (SINGLE, ONE_BY_ONE)]
    listed += [(HALF, ONE_BY_ONE)] * (states == 1 or ALL_TYPES)
    for grad, more in (*listed, (reals(6, 3), {})):
        yield with_states(grad.shape, grad.dtype, grad, states, rowwise), {"lr": np.array([0.5]), **attrs, **more}


def case(states, **attrs):
    return with_states((6, 3), np.float64, REPEATED, states), {"lr": 0.5, **attrs}


HALVES = *with_states(HALF.shape, np.float16, HALF, 0), reals(*HALF.shape, dtype=np.float32)  # and a float32 state
SAMPLES = {
    "momentum": [
        *cases(1, nesterov=True),
        (with_states(WIDE.shape, np.float32, WIDE, 1), {"lr": 0.5, "lazy": True, "nesterov": True}),
        (with_states(WIDE.shape, np.float32, WIDE, 1), {"lr": 0.5, "rate_in_velocity": True, "lazy": True}),
        (with_states((6, 3), np.float64, reals(6, 3), 1), {"lr": 0.5, "return_step": True}),
        (with_states(HALF.shape, np.float16, HALF, 1), {"lr": 0.5, "return_step": True, **ONE_BY_ONE}),
        case(1, mask=np.arange(6) < 3),
        (HALVES, {"lr": 0.5}),
        (HALVES, {"lr": 0.5, "lazy": True}),
        (with_states((6, 3), np.float64, reals(6, 3), 1), {"lr": 0.5, "mask": np.arange(6) < 3}),
        (with_states(HALF.shape, np.float16, HALF, 1), {"lr": 0.5, "rounding_seed": 7}),
        (with_states(HALF.shape, np.float16, HALF, 1), {"lr": 0.5, "rounding_seed": 7, "lazy": True}),
        case(1, dampening=0.25, weight_decay=0.1, maximize=True),
    ],
    "adadelta": list(cases(2, epsilon=1e-3)),
    "rmsprop": [
        *cases(2, momentum=0.5, epsilon=1e-3),
        case(3, momentum=0.5, epsilon=1e-3, epsilon_in_root=False, rate_in_velocity=False),
    ],
    "lion": list(cases(1)),
}
_TABLE, _ROWS, _LISTED = np.ones((3, 3), np.float32), np.ones((2, 3), np.float32), np.array([1, 1])
_RATE = np.array([-0.1])
CAFFE2 = {
    "MomentumSGD": (_TABLE.copy(), _TABLE.copy(), np.array([0.1])),
    "MomentumSGDUpdate": (_TABLE.copy(), _TABLE.copy(), np.array([0.1]), _TABLE.copy()),
    "SparseMomentumSGDUpdate": (_ROWS, _TABLE.copy(), np.array([0.1]), _TABLE.copy(), _LISTED),
    "Adadelta": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _RATE),
    "SparseAdadelta": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _LISTED, _ROWS, _RATE),
    "RmsProp": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), np.array([0.1])),
}
