"""Samples of lodkit/ops/dropout.py."""

from __future__ import annotations

import numpy as np

from ._make import ragged, reals
from .dense import ELEMENTS

SAMPLES = {
    "dropout": [((x,), {"rate": 0.5, "seed": seed}) for seed, x in enumerate((*ELEMENTS, reals(200)))]
    + [((ragged([2, 1], [1, 0, 3]),), {"rate": rate, "seed": -1}) for rate in (0, 1, 0.1)]
    + [((np.array([np.nan, np.inf, 1.0]),), {"rate": 0.9, "seed": 2**63 - 1})]
    + [((reals(3, 2),), {"rate": 0.5, "seed": 3, "training": False})]
}
