"""CPU kernels of lodkit/ops/activations.py, and steps of activations for all numbers in one pass."""

from __future__ import annotations

import math

from ...jit import jitable, simd
from ...ops.activations import CUBIC, ROOT
from .primitives.map_numbers import map_numbers
from .primitives.row_softmax import softmax_grad_last as softmax_grad_last
from .primitives.row_softmax import softmax_last as softmax_last

ROOT_OF_HALF = math.sqrt(0.5)
DENSITY = 1 / math.sqrt(2 * math.pi)
# The approximate share is exactly 0 or 1 from this square of x on.
SATURATING_SQUARE = 1e9


@jitable
def _share(x):
    """The approximate share below x, and its derivative; by sigmoid, as 1 + tanh cancels digits below 0."""
    # Larger squares would overflow.
    square = simd.minimum(simd.mul(x, x), simd.like(x, SATURATING_SQUARE))
    inner = simd.fma(square, simd.like(x, 2 * ROOT * CUBIC), simd.like(x, 2 * ROOT))
    share = simd.sigmoid(simd.mul(x, inner))
    slope = simd.fma(square, simd.like(x, 6 * ROOT * CUBIC), simd.like(x, 2 * ROOT))
    return share, simd.mul(simd.mul(share, simd.sub(simd.like(x, 1.0), share)), slope)


@jitable
def _gelu_by_tanh(x):
    return simd.mul(x, _share(x)[0])


@jitable
def _gelu_by_tanh_grad(x, grad):
    share, slope = _share(x)
    return simd.mul(grad, simd.fma(x, slope, share))


@jitable
def _normal_cdf(x):
    """The share of a normal distribution below x. By erfc, whose small values are exact to the last digits."""
    return simd.mul(simd.like(x, 0.5), simd.erfc(simd.mul(x, simd.like(x, -ROOT_OF_HALF))))


@jitable
def _gelu(x):
    return simd.mul(x, _normal_cdf(x))


@jitable
def _gelu_grad(x, grad):
    density = simd.mul(simd.exp(simd.mul(simd.mul(x, x), simd.like(x, -0.5))), simd.like(x, DENSITY))
    return simd.mul(grad, simd.fma(x, density, _normal_cdf(x)))


@jitable
def _silu(x):
    return simd.mul(x, simd.sigmoid(x))


@jitable
def _silu_grad(x, grad):
    share, one = simd.sigmoid(x), simd.like(x, 1.0)
    return simd.mul(simd.mul(grad, share), simd.fma(x, simd.sub(one, share), one))


def gelu(x, approximate):
    return map_numbers(_gelu_by_tanh if approximate else _gelu, x)


def gelu_grad(x, grad, approximate):
    return map_numbers(_gelu_by_tanh_grad if approximate else _gelu_grad, x, grad)


def silu(x):
    return map_numbers(_silu, x)


def silu_grad(x, grad):
    return map_numbers(_silu_grad, x, grad)
