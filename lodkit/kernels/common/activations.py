"""Kernels of lodkit/ops/activations.py: the array library's own arithmetic, except for softmax on the CPU."""

from __future__ import annotations

import math

import numpy as np

from ...ops import activations as ops
from ...ops.activations import CUBIC, ROOT


@ops.softmax.kernel("cpu", "cuda")
def softmax(on, x, /):
    with np.errstate(all="ignore"):
        return on.activations.softmax_last(ops.check_rows_of_numbers(x, "softmax"))


@ops.softmax_grad.kernel("cpu", "cuda")
def softmax_grad(on, out, grad, /):
    ops.check_activation(ops.check_rows_of_numbers(out, "softmax_grad"), grad, "softmax_grad")
    return on.rounded(out, on.activations.softmax_grad_last(out, grad))


def _below(on, xp, x):
    """The share of a normal distribution below x. By erfc, whose small values are exact to the last digits."""
    return 0.5 * xp.asarray(on.activations.complementary_error(x * -math.sqrt(0.5)))


def _tanh_below(xp, x):
    """The approximate share below x, and its derivative."""
    square = x * x
    t = xp.tanh(ROOT * x * (1 + CUBIC * square))
    return 0.5 + 0.5 * t, 0.5 * ROOT * (1 - t * t) * (1 + 3 * CUBIC * square)


@ops.gelu.kernel("cpu", "cuda")
def gelu(on, x, /, *, approximate):
    xp, y = on.computing(ops.check_float(x, "gelu"))
    with np.errstate(all="ignore"):
        return on.rounded(x, y * (_tanh_below(xp, y)[0] if approximate else _below(on, xp, y)))


@ops.gelu_grad.kernel("cpu", "cuda")
def gelu_grad(on, x, grad, /, *, approximate):
    ops.check_activation(x, grad, "gelu_grad")
    xp, y, g = on.computing(x, grad)
    with np.errstate(all="ignore"):
        if approximate:
            below, density = _tanh_below(xp, y)
        else:
            below, density = _below(on, xp, y), xp.exp(-0.5 * y * y) * (1 / math.sqrt(2 * math.pi))
        return on.rounded(x, g * (below + y * density))


@ops.silu.kernel("cpu", "cuda")
def silu(on, x, /):
    xp, y = on.computing(ops.check_float(x, "silu"))
    with np.errstate(all="ignore"):
        return on.rounded(x, y / (1 + xp.exp(-y)))


@ops.silu_grad.kernel("cpu", "cuda")
def silu_grad(on, x, grad, /):
    ops.check_activation(x, grad, "silu_grad")
    xp, y, g = on.computing(x, grad)
    with np.errstate(all="ignore"):
        share = 1 / (1 + xp.exp(-y))
        return on.rounded(x, g * share * (1 + y * (1 - share)))
