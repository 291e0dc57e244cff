"""Samples of lodkit/ops/adam_optimizers.py."""

from __future__ import annotations

import numpy as np

from .moment_optimizers import _LISTED, _RATE, _ROWS, _TABLE, case, cases
from .optimizers import WIDE, with_states

SAMPLES = {
    "advance_power": [((np.array([0.81]),), {"beta": 0.9}), ((np.array([0.5], np.float32),), {"beta": 0.5})],
    "adam": [
        *cases(2, iteration=3, epsilon=1e-3),
        (with_states(WIDE.shape, np.float32, WIDE, 2), {"lr": 0.5, "iteration": 3, "rectified": True, "lazy": True}),
        case(2, iteration=2, rectified=True),
        case(3, iteration=3, epsilon=1e-3, corrected_epsilon=True),
        case(2, iteration=3, epsilon=1e-3, weight_decay=0.1, decoupled=True, clip_norm=0.5),
    ],
    "rowwise_adam": [
        *cases(2, True, iteration=np.array([0]), epsilon=1e-3),
        *list(cases(2, True, iteration=2, epsilon=1e-3, rectified=True))[:3],
        (with_states(WIDE.shape, np.float32, WIDE, 2, True), {"lr": 0.5, "iteration": 9, "rectified": True}),
    ],
    "adamw": [*cases(2, iteration=3, epsilon=1e-3), case(3, iteration=3, epsilon=1e-3)],
    "adamax": [*cases(2, iteration=3, epsilon=1e-3), case(2, iteration=3, epsilon=0.5, epsilon_on_norm=True)],
    "nadam": list(cases(2, iteration=3, epsilon=1e-3)),
    "radam": [case(2, iteration=9, epsilon=1e-3), case(2, iteration=0)],
}
_ITER = np.array([4])
CAFFE2 = {
    "Adam": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _RATE, _ITER),
    "SparseAdam": (_TABLE.copy(), _TABLE.copy(), _TABLE.copy(), _LISTED, _ROWS, _RATE, _ITER),
    "RowWiseSparseAdam": (_TABLE.copy(), _TABLE.copy(), np.ones(3, np.float32), _LISTED, _ROWS, _RATE, _ITER),
}
