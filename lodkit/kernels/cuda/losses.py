"""CUDA kernels of lodkit/ops/losses.py: the array library's own arithmetic."""

from __future__ import annotations

import numpy as np

from .primitives.device import namespace_and_arrays, round_like


def binary_cross_entropy(logits, labels):
    xp, x, z = namespace_and_arrays(logits, labels)
    with np.errstate(all="ignore"):
        losses = xp.where(x > 0, x, xp.zeros_like(x)) - x * xp.astype(z, x.dtype) + xp.log1p(xp.exp(-xp.abs(x)))
    return round_like(logits, losses)


def binary_cross_entropy_grad(logits, labels, grad):
    """The gradient by the logits."""
    xp, x, z, g = namespace_and_arrays(logits, labels, grad)
    with np.errstate(all="ignore"):
        return round_like(logits, g * (1 / (1 + xp.exp(-x)) - xp.astype(z, x.dtype)))


def labels_grad(logits, grad):
    """The gradient of binary cross entropy by the labels."""
    _, x, g = namespace_and_arrays(logits, grad)
    with np.errstate(all="ignore"):
        return round_like(logits, -x * g)
