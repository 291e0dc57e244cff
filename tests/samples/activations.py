"""Samples of lodkit/ops/activations.py."""

from __future__ import annotations

import numpy as np

from ._make import array, plain, ragged, reals, with_gradient
from .dense import ELEMENTS, MATRICES

INFINITE = np.array([[np.inf, 0, np.inf], [-np.inf, -np.inf, -np.inf], [-np.inf, 1, 2], [np.nan, 1, 2]])
ROWS = [*MATRICES, reals(2, 3, 4), ragged([2, 0, 1]), reals(2, 0), INFINITE]
FAR = np.array([-1e3, -30.0, 30.0, 1e3])


def grads(name, cases):
    """The input or, for ``softmax``, the result, and the gradient by the result."""
    for (x,), out, grad, attrs in with_gradient(plain(cases), name):
        yield (out if name == "softmax" else x, grad), attrs


CASES = {
    "gelu": [((x,), {"approximate": how}) for x in (*ELEMENTS, FAR) for how in (False, True)],
    "silu": [((x,), {}) for x in (*ELEMENTS, FAR, array(3, dtype=np.float32))],
    "softmax": [((x,), {}) for x in ROWS],
}
SAMPLES = {
    **CASES,
    **{f"{name}_grad": [*grads(name, cases)] for name, cases in CASES.items() if name != "softmax"},
    "softmax_grad": [*grads("softmax", CASES["softmax"][:-1])],
}
