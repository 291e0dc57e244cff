"""CUDA kernels of lodkit/ops/activations.py."""

from __future__ import annotations

import math

from ...arrays.cuda import elementwise, vector, view
from .primitives.device import computing, rounded


@elementwise
def _erfc(i, x, out):
    out[i] = math.erfc(vector.number(x, i))


def softmax_of(xp, rows):
    """Softmax along the last axis, by the array API that libraries share.

    Shifted by the maximum; a row of -inf gives 0, k entries of +inf get 1/k each.
    """
    if 0 in rows.shape:
        return rows
    top, zeros = xp.max(rows, axis=-1, keepdims=True), xp.zeros_like(rows)
    shifted = rows - xp.where(xp.isfinite(top), top, zeros[..., :1])
    e = xp.where(top == math.inf, xp.where(rows == math.inf, zeros + 1, zeros), xp.exp(shifted))
    e = xp.where(top != top, top + zeros, e)
    total = xp.sum(e, axis=-1, keepdims=True)
    return e / xp.where(total == 0, zeros[..., :1] + 1, total)


def softmax_last(x):
    """The softmax along the last axis."""
    xp, rows = computing(x)
    return rounded(x, softmax_of(xp, rows))


def softmax_grad_last(out, grad):
    """The gradient of ``softmax_last``, by its result."""
    xp, y, g = computing(out, grad)
    return (g - xp.sum(g * y, axis=-1, keepdims=True)) * y


def complementary_error(x):
    """The complementary error function of every element, which the array API lacks."""
    x = view(x)
    return _erfc.into(x.like(x.shape), x).array
