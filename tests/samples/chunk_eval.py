"""Samples of lodkit/ops/chunk_eval.py."""

from __future__ import annotations

import numpy as np

from ._make import ids, ragged


def tagged(*levels, tags=2, types=2, dtype=np.int64, **attrs):
    """Make a call of chunk_eval whose labels agree in places."""
    label, other = (ids(*levels, height=types * tags + 1, dtype=dtype) for _ in range(2))
    values = np.where(np.arange(len(label.values)) % 5 < 4, label.values, other.values)
    return (label.with_values(values), label), {"num_chunk_types": types, **attrs}


SAMPLES = {
    "chunk_eval": [
        tagged([7, 0, 1, 9]),
        tagged([9, 5], chunk_scheme="IOE", dtype=np.int32),
        tagged([40, 3], tags=4, types=3, chunk_scheme="IOBES", excluded_chunk_types=[1]),
        tagged([2, 1], [9, 0, 8], tags=1, chunk_scheme="plain", level=0),
        tagged([]),
        tagged([0, 0]),
    ]
}
X = ragged([2, 1], item=(3,))
LABEL = X.with_values(np.array([[0], [2], [1]]))
CRF = {"Emission": X, "Transition": np.ones((5, 3)), "Label": LABEL}
PADDLE = {
    "linear_chain_crf": (CRF, {}),
    "crf_decoding": (CRF, {}),
    "chunk_eval": ({"Inference": LABEL, "Label": LABEL}, {"num_chunk_types": 1}),
}
