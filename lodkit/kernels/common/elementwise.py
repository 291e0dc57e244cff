"""Kernels of lodkit/ops/elementwise.py: the array library's own routines, by the array API that libraries share."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_gradient, check_values, dtype_of
from ...arrays.objects import refuse_objects
from ...lod import LoDTensor, SelectedRows
from ...ops import elementwise as ops
from ...registry import Dense
from .array_api import namespace, rounded, wide


def _map(op, function, floating=False, merge=True):
    """Register an operator whose kernel is ``function(xp, x, **attributes)``, for all kinds and devices."""

    def run(x, attrs):
        dtype = check_values(dtype_of(x), op.name, floating=floating)
        with np.errstate(all="ignore"):
            return rounded(function(namespace(x), wide(x), **{**op.defaults, **attrs}), dtype)

    def dense(x: Dense, /, **attrs):
        return run(x, attrs)

    def selected(x: SelectedRows, /, **attrs):
        x = x.merge() if merge is True or (merge and attrs.get(merge)) else x
        return x._with_value(run(x.value, attrs))

    for kernel in (dense, selected):
        op.kernel("cpu")(op.kernel("cuda")(kernel))


def _bound(x, number):
    """A bound in the type of the elements, infinite where it is larger than those."""
    return float(dtype_of(x).type(number))


def _clip(xp, x, *, min, max):
    ops.check_bounds(min, max)
    return xp.clip(x, _bound(x, min), _bound(x, max))


def _norm(xp, x):
    """The norm in double precision, an array without dimensions: nothing waits for a GPU."""
    return xp.sqrt(xp.sum(xp.square(_as(xp, x, xp.float64))))


def _as(xp, x, dtype):
    return np.asarray(x, dtype) if xp is np else xp.astype(xp.asarray(x), dtype)


def _clip_by_norm(xp, x, *, max_norm):
    ops.check_norm(max_norm)
    norm = xp.asarray(_norm(xp, x))
    return x * _as(xp, xp.where(norm <= max_norm, xp.ones_like(norm), max_norm / norm), x.dtype)


def _scale(xp, x, *, scale, bias, bias_after_scale):
    shift = bias if bias_after_scale else scale * bias
    return x * scale + shift if shift else x * scale


_map(ops.abs, lambda xp, x: xp.abs(x))
_map(ops.square, lambda xp, x: xp.square(x))
_map(ops.sqrt, lambda xp, x: xp.sqrt(x), floating=True)
_map(ops.clip_by_value, _clip, floating=True)
_map(ops.clip_by_norm, _clip_by_norm, floating=True)
_map(ops.scale, _scale, floating=True, merge="bias")
_map(ops.assign, lambda xp, x: xp.asarray(x, copy=True), merge=False)


def _product(x, y):
    xp, dtype = namespace(x), ops.check_factor(x, y)
    factor = wide(y) if tuple(y.shape) == tuple(x.shape) else xp.reshape(wide(y), (1,) * len(x.shape))
    with np.errstate(all="ignore"):
        return rounded(wide(x) * factor, dtype)


@ops.elementwise_mul.kernel("cpu")
@ops.elementwise_mul.kernel("cuda")
def multiply(x: Dense, y, /):
    return _product(x, y)


@ops.elementwise_mul.kernel("cpu")
@ops.elementwise_mul.kernel("cuda")
def multiply_selected(x: SelectedRows, y, /):
    ops.check_factor(x, y)
    if math.prod(y.shape) != 1:
        y = namespace(y).take(y, x._rows, axis=0)
    return x._with_value(_product(x.value, y))


def _backward(op, function, saved):
    """Register a gradient, ``function(xp, saved, grad, **attributes)``, for both devices."""

    def kernel(x, grad, /, **attrs):
        check_gradient(grad, x.shape)
        dtype = check_values(dtype_of(x), op.name, floating=True)
        with np.errstate(all="ignore"):
            return rounded(function(namespace(x), wide(x), wide(grad), **attrs), dtype)

    op.kernel("cpu")(op.kernel("cuda")(kernel))


def _inside(xp, x, grad, *, min, max):
    return xp.where(xp.logical_and(x >= min, x <= max), grad, xp.zeros_like(grad))


_backward(ops.abs_grad, lambda xp, x, grad: grad * xp.sign(x), "x")
_backward(ops.sqrt_grad, lambda xp, out, grad: grad / (2 * out), "out")
_backward(ops.clip_by_value_grad, _inside, "x")


def _numbers(x):
    return refuse_objects(x, "x") if isinstance(x, np.ndarray) else x


_WHOLE = {
    ops.isfinite: lambda xp, x: xp.all(xp.isfinite(_numbers(x))),
    ops.isinf: lambda xp, x: xp.any(xp.isinf(_numbers(x))),
    ops.isnan: lambda xp, x: xp.any(xp.isnan(_numbers(x))),
}


def _whole(op, function):
    """Register an operator of all elements, whose kernel gives an array without dimensions."""

    def dense(x: Dense, /):
        xp = namespace(x)
        return xp.reshape(xp.asarray(function(xp, xp.asarray(x))), (1,))

    def ragged(x: LoDTensor, /):
        return dense(x.values)

    def selected(x: SelectedRows, /):
        return dense(x.merge().value)

    for kernel in (dense, ragged, selected):
        op.kernel("cpu")(op.kernel("cuda")(kernel))


def _norm_of(xp, x):
    dtype = check_values(dtype_of(x), "norm", floating=True)
    return rounded(_norm(xp, x), dtype)


for _op, _function in {**_WHOLE, ops.norm: _norm_of}.items():
    _whole(_op, _function)
