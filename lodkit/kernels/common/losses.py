"""Kernels of lodkit/ops/losses.py: checks, and the array library's own arithmetic."""

from __future__ import annotations

from ...lod import LoDTensor
from ...ops import losses as ops
from ...registry import Dense


@ops.sigmoid_cross_entropy_with_logits.kernel("cpu", "cuda")
def sigmoid_cross_entropy_with_logits(on, logits, labels, /):
    ops.check_logits(logits, labels)
    return on.losses.binary_cross_entropy(logits, labels)


@ops.sigmoid_cross_entropy_with_logits_grad.kernel("cpu", "cuda")
def sigmoid_cross_entropy_with_logits_grad(on, logits, labels, grad, /):
    ops.check_logits(logits, labels, grad)
    return on.losses.binary_cross_entropy_grad(logits, labels, grad), on.losses.labels_grad(logits, grad)


@ops.mean_squared_error.kernel("cpu", "cuda")
def mean_squared_error(on, x: Dense | LoDTensor, target: Dense | LoDTensor, /):
    x, target = ops.prepare_errors(x, target)
    xp, a, b = on.namespace_and_arrays(x, target)
    total = xp.sum((a - b) * (a - b), dtype=xp.float64)
    return on.round_like(x, xp.reshape(total / max(x.size, 1), (1,)))


@ops.mean_squared_error_grad.kernel("cpu", "cuda")
def mean_squared_error_grad(on, x, target, grad, /):
    x, target = ops.prepare_errors(x, target, grad)
    xp, a, b, g = on.namespace_and_arrays(x, target, grad)
    by_x = (a - b) * xp.reshape(g * (2 / max(x.size, 1)), (1,) * len(x.shape))
    return on.round_like(x, by_x, -by_x)
