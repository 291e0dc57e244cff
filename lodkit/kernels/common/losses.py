"""Kernels of lodkit/ops/losses.py: the array library's own arithmetic."""

from __future__ import annotations

import numpy as np

from ...lod import LoDTensor
from ...ops import losses as ops
from ...registry import Dense


@ops.sigmoid_cross_entropy_with_logits.kernel("cpu", "cuda")
def sigmoid_cross_entropy_with_logits(on, logits, labels, /):
    ops.check_logits(logits, labels)
    xp, x, z = on.computing(logits, labels)
    with np.errstate(all="ignore"):
        losses = xp.where(x > 0, x, xp.zeros_like(x)) - x * xp.astype(z, x.dtype) + xp.log1p(xp.exp(-xp.abs(x)))
    return on.rounded(logits, losses)


@ops.sigmoid_cross_entropy_with_logits_grad.kernel("cpu", "cuda")
def sigmoid_cross_entropy_with_logits_grad(on, logits, labels, grad, /):
    ops.check_logits(logits, labels, grad)
    xp, x, z, g = on.computing(logits, labels, grad)
    with np.errstate(all="ignore"):
        by_logits = g * (1 / (1 + xp.exp(-x)) - xp.astype(z, x.dtype))
    return on.rounded(logits, by_logits, -x * g)


@ops.mean_squared_error.kernel("cpu", "cuda")
def mean_squared_error(on, x: Dense | LoDTensor, target: Dense | LoDTensor, /):
    x, target = ops.prepare_errors(x, target)
    xp, a, b = on.computing(x, target)
    total = xp.sum((a - b) * (a - b), dtype=xp.float64)
    return on.rounded(x, xp.reshape(total / max(x.size, 1), (1,)))


@ops.mean_squared_error_grad.kernel("cpu", "cuda")
def mean_squared_error_grad(on, x, target, grad, /):
    x, target = ops.prepare_errors(x, target, grad)
    xp, a, b, g = on.computing(x, target, grad)
    by_x = (a - b) * xp.reshape(g * (2 / max(x.size, 1)), (1,) * len(x.shape))
    return on.rounded(x, by_x, -by_x)
