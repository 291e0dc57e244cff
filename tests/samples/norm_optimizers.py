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


SAMPLES = {"wngrad": list(cases(0)), "storm": list(cases(1))}
_TABLE, _ROWS, _LISTED, _RATE, _ONE = np.ones((3, 2)), np.ones((2, 2)), np.array([1, 1]), np.array([-0.1]), np.ones(1)
CAFFE2 = {
    "Wngrad": (_TABLE.copy(), _ONE.copy(), _TABLE.copy(), _RATE),
    "SparseWngrad": (_TABLE.copy(), _ONE.copy(), _LISTED, _ROWS, _RATE),
    "Storm": (_TABLE.copy(), _TABLE.copy(), _ONE.copy(), _TABLE.copy(), _RATE),
    "SparseStorm": (_TABLE.copy(), _TABLE.copy(), _ONE.copy(), _ROWS, _LISTED, _RATE),
}
