"""Kernels of lodkit/ops/layer_norm.py: the array library's own arithmetic."""

from __future__ import annotations

from ... import ops
from ...ops.layer_norm import check_layer_norm
from ...registry import Dense


def _normal(xp, x, axes, size, epsilon):
    """Rows of mean 0 and variance 1, and what they were multiplied by."""
    centred = x - xp.sum(x, axis=axes, keepdims=True) / size
    factor = 1 / xp.sqrt(xp.sum(centred * centred, axis=axes, keepdims=True) / size + epsilon)
    return centred * factor, factor


@ops.layer_norm.kernel("cpu", "cuda")
def layer_norm(on, x, scale: Dense | None, bias: Dense | None, /, *, epsilon):
    axes, size = check_layer_norm(x, scale, bias, epsilon=epsilon)
    xp, rows = on.computing(x)
    out = _normal(xp, rows, axes, size, epsilon)[0]
    if scale is not None:
        out = out * on.computing(scale)[1]
    if bias is not None:
        out = out + on.computing(bias)[1]
    return on.rounded(x, out)


@ops.layer_norm_grad.kernel("cpu", "cuda")
def layer_norm_grad(on, x, scale: Dense | None, grad, /, *, epsilon):
    axes, size = check_layer_norm(x, scale, None, grad, epsilon=epsilon)
    xp, rows, g = on.computing(x, grad)
    normal, factor = _normal(xp, rows, axes, size, epsilon)
    by_normal = g if scale is None else g * on.computing(scale)[1]
    mean = xp.sum(by_normal, axis=axes, keepdims=True) / size
    slope = xp.sum(by_normal * normal, axis=axes, keepdims=True) / size
    by_x = (by_normal - mean - normal * slope) * factor
    sums = (xp.sum(part, axis=0, dtype=xp.float64) for part in (g * normal, g))
    return on.rounded(x, by_x, *sums)
