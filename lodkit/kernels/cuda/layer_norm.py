"""CUDA part of lodkit/ops/layer_norm.py: the array library's own arithmetic."""

from __future__ import annotations

import math

from .primitives.device import namespace_and_arrays, round_like


def _normal(xp, x, axes, size, epsilon):
    """Rows of mean 0 and variance 1, and what they were multiplied by."""
    centred = x - xp.sum(x, axis=axes, keepdims=True) / size
    # Far from 0 a mean is rounded by more than the numbers differ: the differences from it have a mean of their own.
    centred = centred - xp.sum(centred, axis=axes, keepdims=True) / size
    factor = 1 / xp.sqrt(xp.sum(centred * centred, axis=axes, keepdims=True) / size + epsilon)
    return centred * factor, factor


def _row(x):
    """The axes of a row, and its number of elements."""
    return tuple(range(1, x.ndim)), max(math.prod(x.shape[1:]), 1)


def normal_rows(x, scale, bias, epsilon):
    """Each row to mean 0 and variance 1, times the scale, plus the bias."""
    xp, rows = namespace_and_arrays(x)
    out = _normal(xp, rows, *_row(x), epsilon)[0]
    if scale is not None:
        out = out * namespace_and_arrays(scale)[1]
    if bias is not None:
        out = out + namespace_and_arrays(bias)[1]
    return round_like(x, out)


def gradients(x, scale, grad, epsilon):
    """The gradients by x, scale and bias."""
    (axes, size), (xp, rows, g) = _row(x), namespace_and_arrays(x, grad)
    normal, factor = _normal(xp, rows, axes, size, epsilon)
    by_normal = g if scale is None else g * namespace_and_arrays(scale)[1]
    mean = xp.sum(by_normal, axis=axes, keepdims=True) / size
    slope = xp.sum(by_normal * normal, axis=axes, keepdims=True) / size
    by_x = (by_normal - mean - normal * slope) * factor
    sums = (xp.sum(part, axis=0, dtype=xp.float64) for part in (g * normal, g))
    return round_like(x, by_x, *sums)
