"""Samples of lodkit/ops/continuous_value.py."""

from __future__ import annotations

import numpy as np

from ._make import ragged, with_gradient

rng = np.random.default_rng(0)
COUNTS = [rng.integers(0, 9, shape) / 2 for shape in ((3, 4), (2, 2), (0, 3))]
COUNTS += [rng.integers(0, 9, (3, 5)).astype(np.float32), rng.integers(0, 4, (2, 3)).astype(np.float16)]
CASES = [((x,), {"use_cvm": use}) for x in COUNTS for use in (True, False)]
RAGGED = ragged([2, 0, 1], item=(4,))
SAMPLES = {
    "continuous_value_model": [*CASES, ((RAGGED.with_values(np.abs(RAGGED.values)),), {})],
    "continuous_value_model_grad": [
        ((x, grad), attrs) for (x,), _, grad, attrs in with_gradient(CASES, "continuous_value_model")
    ]
    + [((COUNTS[0], np.arange(12, dtype=np.uint8)[::-1].reshape(3, 4)), {})],
}
PADDLE = {"cvm": ({"X": np.ones((3, 4)), "CVM": np.ones((3, 2))}, {"use_cvm": True})}
