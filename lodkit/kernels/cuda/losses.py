"""CUDA kernels of lodkit/ops/losses.py: the array library's own arithmetic."""

from __future__ import annotations

import numpy as np

from .primitives.device import computing, rounded


def binary_cross_entropy(logits, labels):
    xp, x, z = computing(logits, labels)
    with np.errstate(all="ignore"):
        losses = xp.where(x > 0, x, xp.zeros_like(x)) - x * xp.astype(z, x.dtype) + xp.log1p(xp.exp(-xp.abs(x)))
    return rounded(logits, losses)


def binary_cross_entropy_grad(logits, labels, grad):
    """The gradient by the logits."""
    xp, x, z, g = computing(logits, labels, grad)
    with np.errstate(all="ignore"):
        return rounded(logits, g * (1 / (1 + xp.exp(-x)) - xp.astype(z, x.dtype)))


def labels_grad(logits, grad):
    """The gradient of binary cross entropy by the labels."""
    _, x, g = computing(logits, grad)
    with np.errstate(all="ignore"):
        return rounded(logits, -x * g)
