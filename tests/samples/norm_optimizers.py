"""Samples of lodkit/ops/norm_optimizers.py."""

from __future__ import annotations

import numpy as np

from ._make import reals
from .optimizers import HALF, NONE, REPEATED, WIDE, with_states


def cases(states):
    for grad, attrs in (
        (REPEATED, {}),
        (NONE, {}),
        (WIDE, {"duplicates": "sequential"}),
        (HALF, {}),
        (reals(6, 3, dtype=np.float32), {}),
        (np.zeros((2, 0)), {}),
    ):
        number = np.array([1.5], np.promote_types(grad.dtype, np.float32))
        if states and attrs:
            attrs["lazy"] = True
        yield (*with_states(grad.shape, grad.dtype, grad, states), number), {"lr": 0.5, **attrs}


def trusting(states, **attrs):
    for grad, more in (
        (REPEATED, {"clip_value": 0.5}),
        (NONE, {"lazy": True}),
        (REPEATED, {"lazy": True, "maximize": True, "clip_norm": 0.5}),
        (HALF, {"lazy": True}),
        (reals(6, 3), {}),
        (np.zeros((2, 0)), {}),
    ):
        yield with_states(grad.shape, grad.dtype, grad, states), {"lr": 0.5, "weight_decay": 0.1, **attrs, **more}


SAMPLES = {
    "wngrad": list(cases(0)),
    "storm": list(cases(1)),
    "lars": [*trusting(1, coefficient=0.5), (with_states((6, 3), np.float64, np.zeros((6, 3)), 1), {"lr": 0.5})],
    "lamb": [
        *trusting(2, iteration=3, epsilon=1e-3),
        (with_states((6, 3), np.float64, REPEATED, 2), {"lr": 0.5, "iteration": 3, "bias_correction": False}),
    ],
    "dpsgd": [
        ((reals(6, 3), REPEATED), {"lr": 0.5, "clip_norm": 0.5}),
        ((reals(6, 3), REPEATED), {"lr": 0.5, "clip_norm": 0.5, "duplicates": "sequential", "sigma": 0.1}),
        ((reals(6, 3), reals(6, 3)), {"lr": 0.5, "clip_norm": 0.5, "sigma": 0.1, "seed": 3, "iteration": 7}),
        ((reals(0, 3), reals(0, 3)), {"lr": 0.5, "clip_norm": 0.5, "sigma": 0.1}),
        ((np.array(2.0), np.array(0.25)), {"lr": 0.5, "clip_norm": 0.5, "sigma": 0.1}),
        ((reals(*HALF.shape, dtype=np.float16), HALF), {"lr": 0.5, "clip_norm": 5.0}),
    ],
}
_TABLE, _ROWS, _ONE = (np.ones(shape, np.float32) for shape in ((3, 4), (2, 4), 1))
_LISTED, _RATE = np.array([1, 1]), np.array([-0.1])
CAFFE2 = {
    "Wngrad": (_TABLE.copy(), _ONE.copy(), _TABLE.copy(), _RATE),
    "SparseWngrad": (_TABLE.copy(), _ONE.copy(), _LISTED, _ROWS, _RATE),
    "Storm": (_TABLE.copy(), _TABLE.copy(), _ONE.copy(), _TABLE.copy(), _RATE),
    "SparseStorm": (_TABLE.copy(), _TABLE.copy(), _ONE.copy(), _ROWS, _LISTED, _RATE),
}
