"""CUDA kernels of lodkit/ops/activations.py: the array library's own arithmetic."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import elementwise, vector, view
from ...ops.activations import CUBIC, ROOT
from .primitives.device import namespace_and_arrays, round_like


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
    xp, rows = namespace_and_arrays(x)
    with np.errstate(all="ignore"):
        return round_like(x, softmax_of(xp, rows))


def softmax_grad_last(out, grad):
    """The gradient of ``softmax_last``, by its result."""
    xp, y, g = namespace_and_arrays(out, grad)
    return round_like(out, (g - xp.sum(g * y, axis=-1, keepdims=True)) * y)


def _normal_cdf(xp, x):
    """The share of a normal distribution below x. By erfc, whose small values are exact to the last digits."""
    z = view(x * -math.sqrt(0.5))
    return 0.5 * xp.asarray(_erfc.into(z.like(z.shape), z).array)


def _tanh_below(xp, x):
    """The approximate share below x, and its derivative."""
    square = x * x
    t = xp.tanh(ROOT * x * (1 + CUBIC * square))
    return 0.5 + 0.5 * t, 0.5 * ROOT * (1 - t * t) * (1 + 3 * CUBIC * square)


def gelu(x, approximate):
    xp, y = namespace_and_arrays(x)
    with np.errstate(all="ignore"):
        return round_like(x, y * (_tanh_below(xp, y)[0] if approximate else _normal_cdf(xp, y)))


def gelu_grad(x, grad, approximate):
    xp, y, g = namespace_and_arrays(x, grad)
    with np.errstate(all="ignore"):
        if approximate:
            below, density = _tanh_below(xp, y)
        else:
            below, density = _normal_cdf(xp, y), xp.exp(-0.5 * y * y) * (1 / math.sqrt(2 * math.pi))
        return round_like(x, g * (below + y * density))


def silu(x):
    xp, y = namespace_and_arrays(x)
    with np.errstate(all="ignore"):
        return round_like(x, y / (1 + xp.exp(-y)))


def silu_grad(x, grad):
    xp, y, g = namespace_and_arrays(x, grad)
    with np.errstate(all="ignore"):
        share = 1 / (1 + xp.exp(-y))
        return round_like(x, g * share * (1 + y * (1 - share)))
