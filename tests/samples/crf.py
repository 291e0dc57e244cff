"""Samples of lodkit/ops/crf.py."""

from __future__ import annotations

import numpy as np

from ._make import array, ragged, reals, rng, with_gradient


def chain(*levels, tags=3, dtype=np.float64, scale=1.0, ids=np.int64, **attrs):
    """Make a call of linear_chain_crf; its exponentials underflow where the scale is in the hundreds."""
    x = ragged(*levels, item=(tags,), dtype=dtype)
    x = x.with_values((x.values * scale).astype(dtype))
    make = array if dtype == np.float16 else reals
    transition = (make(tags + 2, tags, dtype=dtype) * scale).astype(dtype)
    return (x, transition, x.with_values(rng.integers(0, tags, len(x.values)).astype(ids))), attrs


def forbidden():
    """Every way to tag 1 is forbidden, and tag 2 comes last."""
    (x, transition, label), attrs = chain([3, 2])
    transition[2:, 1] = -np.inf
    transition[1, :2] = -1e4
    return (x, transition, label.with_values(np.zeros_like(label.values))), attrs


CASES = [
    chain([3, 0, 1, 4]),
    chain([2, 1], [3, 0, 2], level=0, ids=np.int32),
    chain([2, 1], [1, 0, 2], tags=2),
    chain([70, 3], tags=2),
    chain([2, 3], tags=10, dtype=np.float32),
    chain([2, 3], tags=9, scale=500.0),
    forbidden(),
    chain([3, 1], dtype=np.float16),
    chain([1, 2], tags=1),
    chain([]),
    chain([0, 0]),
]
PATHS = [(inputs[:2], attrs) for inputs, attrs in CASES]
EQUAL = chain([3, 2])[0]
PATHS += [CASES[0], CASES[1], ((EQUAL[0].with_values(np.zeros((5, 3))), np.zeros((5, 3))), {})]
SAMPLES = {
    "linear_chain_crf": CASES,
    "linear_chain_crf_grad": [
        ((*inputs, getattr(grad, "values", grad)), attrs)
        for inputs, _, grad, attrs in with_gradient(CASES, "linear_chain_crf")
    ],
    "crf_decoding": PATHS,
}
