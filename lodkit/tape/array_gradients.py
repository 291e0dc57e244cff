"""Gradients of NumPy's ufuncs. Those down to ``copysign`` take arrays of any library: ``xp`` is its namespace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.recorded import UFUNCS, multiply

LN2, LN10 = math.log(2), math.log(10)
DEGREES = 180 / math.pi


def _pass(xp, g, out, *inputs):
    return g


def _zero(xp, g, out, *inputs):
    return xp.zeros_like(g)


def _mask(xp, mask, g):
    if isinstance(mask, bool):  # of two numbers
        return g if mask else xp.zeros_like(g)
    return xp.where(mask, g, xp.zeros_like(g))


def _extreme(first):
    """Gradients of the larger or smaller of two, by a function that tells where it is the first one."""
    return (lambda xp, g, out, x, y: _mask(xp, first(x, y), g), lambda xp, g, out, x, y: _mask(xp, ~first(x, y), g))


POWER = (
    lambda xp, g, out, x, y: _mask(xp, y != 0, g * y * x ** (y - 1.0)),
    lambda xp, g, out, x, y: _mask(xp, (x > 0) | (x != x), g * out * xp.log(x)),
)


def _matrix_grad(g, x, y):
    """Gradient of ``x @ y`` with the axes that vectors lack."""
    g = np.asarray(g)
    g = g[..., None, :] if x.ndim == 1 and y.ndim > 1 else g[..., None] if x.ndim > 1 and y.ndim == 1 else g
    return g.reshape(1, 1) if x.ndim == y.ndim == 1 else g


def _left_grad(xp, g, out, x, y):
    grad = multiply(_matrix_grad(g, x, y), (y[:, None] if y.ndim == 1 else y).swapaxes(-1, -2))
    return grad.sum(axis=tuple(range(grad.ndim - 1))) if x.ndim == 1 else grad


def _right_grad(xp, g, out, x, y):
    grad = multiply((x[None] if x.ndim == 1 else x).swapaxes(-1, -2), _matrix_grad(g, x, y))
    return grad[..., 0].sum(axis=tuple(range(grad.ndim - 2))) if y.ndim == 1 else grad


_RULES: dict[Any, tuple] = {
    np.positive: (_pass,),
    np.negative: (lambda xp, g, out, x: -g,),
    np.absolute: (lambda xp, g, out, x: g * xp.sign(x),),
    np.square: (lambda xp, g, out, x: 2 * g * x,),
    np.sqrt: (lambda xp, g, out, x: g / (2 * out),),
    np.reciprocal: (lambda xp, g, out, x: -g * out * out,),
    np.exp: (lambda xp, g, out, x: g * out,),
    np.expm1: (lambda xp, g, out, x: g * (out + 1),),
    np.log: (lambda xp, g, out, x: g / x,),
    np.log2: (lambda xp, g, out, x: g / (x * LN2),),
    np.log10: (lambda xp, g, out, x: g / (x * LN10),),
    np.log1p: (lambda xp, g, out, x: g / (x + 1),),
    np.sin: (lambda xp, g, out, x: g * xp.cos(x),),
    np.cos: (lambda xp, g, out, x: -g * xp.sin(x),),
    np.tan: (lambda xp, g, out, x: g * (1 + out * out),),
    np.arcsin: (lambda xp, g, out, x: g / xp.sqrt(1 - x * x),),
    np.arccos: (lambda xp, g, out, x: -g / xp.sqrt(1 - x * x),),
    np.arctan: (lambda xp, g, out, x: g / (1 + x * x),),
    np.sinh: (lambda xp, g, out, x: g * xp.cosh(x),),
    np.cosh: (lambda xp, g, out, x: g * xp.sinh(x),),
    np.tanh: (lambda xp, g, out, x: g * (1 - out * out),),
    np.arcsinh: (lambda xp, g, out, x: g / xp.sqrt(x * x + 1),),
    np.arccosh: (lambda xp, g, out, x: g / xp.sqrt(x * x - 1),),
    np.arctanh: (lambda xp, g, out, x: g / (1 - x * x),),
    **dict.fromkeys((np.sign, np.floor, np.ceil, np.trunc, np.rint), (_zero,)),
    np.add: (_pass, _pass),
    np.subtract: (_pass, lambda xp, g, out, x, y: -g),
    np.multiply: (lambda xp, g, out, x, y: g * y, lambda xp, g, out, x, y: g * x),
    np.divide: (lambda xp, g, out, x, y: g / y, lambda xp, g, out, x, y: -g * out / y),
    np.power: POWER,
    np.maximum: _extreme(lambda x, y: (x >= y) | (x != x)),
    np.minimum: _extreme(lambda x, y: (x <= y) | (x != x)),
    np.hypot: (lambda xp, g, out, x, y: g * x / out, lambda xp, g, out, x, y: g * y / out),
    np.arctan2: (lambda xp, g, out, y, x: g * x / (x * x + y * y), lambda xp, g, out, y, x: -g * y / (x * x + y * y)),
    np.logaddexp: (lambda xp, g, out, x, y: g * xp.exp(x - out), lambda xp, g, out, x, y: g * xp.exp(y - out)),
    np.remainder: (_pass, lambda xp, g, out, x, y: -g * xp.floor(x / y)),
    np.floor_divide: (_zero, _zero),
    np.copysign: (lambda xp, g, out, x, y: xp.where(xp.signbit(x) == xp.signbit(y), g, -g), _zero),
    # NumPy alone has these
    np.fabs: (lambda xp, g, out, x: g * np.sign(x),),
    np.exp2: (lambda xp, g, out, x: g * out * LN2,),
    np.cbrt: (lambda xp, g, out, x: g / (3 * out * out),),
    **dict.fromkeys((np.degrees, np.rad2deg), (lambda xp, g, out, x: g * DEGREES,)),
    **dict.fromkeys((np.radians, np.deg2rad), (lambda xp, g, out, x: g / DEGREES,)),
    np.float_power: POWER,
    np.fmax: _extreme(lambda x, y: (x >= y) | (y != y)),
    np.fmin: _extreme(lambda x, y: (x <= y) | (y != y)),
    np.fmod: (_pass, lambda xp, g, out, x, y: -g * np.trunc(x / y)),
    np.logaddexp2: (lambda xp, g, out, x, y: g * np.exp2(x - out), lambda xp, g, out, x, y: g * np.exp2(y - out)),
    np.heaviside: (_zero, lambda xp, g, out, x, y: _mask(xp, x == 0, g)),
    np.matmul: (_left_grad, _right_grad),
}
UFUNCS.update(_RULES)
