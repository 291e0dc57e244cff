"""Samples of lodkit/ops/gather_scatter.py."""

from __future__ import annotations

import numpy as np

from ._make import LOOKUPS, PLAIN_LOOKUPS, TABLE, reals, vector

SAMPLES = {
    "gather": [((t, i), {}) for (t, i), a in LOOKUPS] + [((TABLE, vector(-1, 2, -6)), {"wrap": True})],
    "gather_grad": [
        ((t, i, reals(*i.shape, *t.shape[1:], dtype=t.dtype)), {}) for (t, i), a in PLAIN_LOOKUPS if t.dtype.kind == "f"
    ],
}
CAFFE2 = {"Gather": (np.arange(6.0), np.array([-1, 2]))}
