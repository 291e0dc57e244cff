"""Samples of lodkit/ops/layer_norm.py."""

from __future__ import annotations

import numpy as np

from ._make import array, plain, ragged, reals, with_gradient


def norm(x, count=2, **attrs):
    """Make a call of layer_norm with a scale and a bias, or fewer."""
    make = array if x.dtype == np.float16 else reals
    return (x, *(make(*x.shape[1:], dtype=x.dtype) for _ in range(count))), attrs


CASES = [
    norm(reals(4, 3)),
    norm(reals(3, 4), 0, epsilon=0.5),
    norm(reals(2, 5), 1),
    norm(reals(0, 3)),
    norm(reals(2, 3, 2)),
    norm(reals(4), 2),
    norm(reals(2, 0), 2),
    norm(reals(5, 64, dtype=np.float32)),
    norm(array(3, 4, dtype=np.float16)),
    ((ragged([2, 0, 1]), reals(5), reals(5)), {}),
    ((ragged([2, 0, 1]), None, reals(5)), {}),
]


def grads():
    for (x, *others), _, grad, attrs in with_gradient(plain(CASES), "layer_norm"):
        yield (x, others[0] if others else None, grad), attrs


SAMPLES = {"layer_norm": CASES, "layer_norm_grad": [*grads()]}
