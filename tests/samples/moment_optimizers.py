"""Samples of lodkit/ops/moment_optimizers.py."""

from __future__ import annotations

import numpy as np

from ._make import reals
from .optimizers import HALF, NONE, REPEATED, WIDE, with_states

ONE_BY_ONE = {"duplicates": "sequential", "lazy": True}


def cases(states, rowwise=False, **attrs):
    for grad, more in ((REPEATED, {}), (NONE, {}), (WIDE, {"lazy": True}), (HALF, ONE_BY_ONE), (reals(6, 3), {})):
        yield with_states(grad.shape, grad.dtype, grad, states, rowwise), {"lr": np.array([0.5]), **attrs, **more}


SAMPLES = {
    "momentum": [
        *cases(1, nesterov=True),
        (with_states(WIDE.shape, np.float32, WIDE, 1), {"lr": 0.5, "rate_in_velocity": True, "lazy": True}),
        (with_states((6, 3), np.float64, reals(6, 3), 1), {"lr": 0.5, "return_step": True}),
        (with_states(HALF.shape, np.float16, HALF, 1), {"lr": 0.5, "return_step": True, **ONE_BY_ONE}),
    ],
    "adam": [*cases(2, iteration=3, epsilon=1e-3), *cases(2, iteration=3, rectified=True)],
    "rowwise_adam": [
        *cases(2, True, iteration=np.array([0]), epsilon=1e-3),
        *cases(2, True, iteration=9, epsilon=1e-3, rectified=True),
    ],
    "adadelta": list(cases(2, epsilon=1e-3)),
    "rmsprop": list(cases(2, momentum=0.5, epsilon=1e-3)),
}
_TABLE, _ROWS, _LISTED = np.ones((3, 2)), np.ones((2, 2)), np.array([1, 1])
_RATE, _ITER = np.array([-0.1]), np.array([4])
CAFFE2 = {
    "MomentumSGD": (_TABLE.copy(), _TABLE.copy(), np.array([0.1])),
    "MomentumSGDUpdate": (_TABLE.copy(), _TABLE.copy(), np.array([0.1]), _TABLE.copy()),
    "SparseMomentumSGDUpdate": (_ROWS, _TABLE.copy(), np.array([0.1]), _TABLE.copy(), _LISTED),
    "Adam": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _RATE, _ITER),
    "SparseAdam": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _LISTED, _ROWS, _RATE, _ITER),
    "RowWiseSparseAdam": (_TABLE.copy(), _TABLE.copy(), np.ones(3), _LISTED, _ROWS, _RATE, _ITER),
    "Adadelta": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _RATE),
    "SparseAdadelta": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _LISTED, _ROWS, _RATE),
    "RmsProp": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), np.array([0.1])),
}
