"""Kernels of lodkit/ops/elementwise.py: the array library's own routines, by the array API that libraries share.

Norms are the devices' own.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values, dtype_of, native
from ...arrays.objects import refuse_no_numbers
from ...lod import LoDTensor, SelectedRows
from ...ops import elementwise as ops
from ...registry import Dense
from .array_api import namespace, round_to, upcast_half

BOTH = "cpu", "cuda"


def map_values(op, function, merge=True, devices=BOTH, whole=None):
    """Register an operator whose kernel is ``function(xp, x, **attributes)``, for all kinds, on these devices.

    ``whole(dtype, **attributes)`` are the attributes for integers.
    """

    def run(x, attrs):
        dtype = check_values(dtype_of(x), op.name)
        attrs = {**op.defaults, **attrs}
        if whole and dtype.kind != "f":
            attrs = whole(dtype, **attrs)
        with np.errstate(all="ignore"):
            return round_to(function(namespace(x), upcast_half(x), **attrs), dtype)

    def map_dense(x: Dense, /, **attrs):
        return run(x, attrs)

    def map_selected(x: SelectedRows, /, **attrs):
        x = x.merge() if merge is True or (merge and attrs.get(merge)) else x
        return x._with_value(run(x.value, attrs))

    for kernel in (map_dense, map_selected):
        for device in devices:
            op.kernel(device)(kernel)


def _bound(x, number):
    """A bound in the type of the elements, infinite where it is larger than those."""
    return dtype_of(x).type(number).item()


def _clip(xp, x, *, min, max):
    ops.check_bounds(min, max)
    return xp.clip(x, _bound(x, min), _bound(x, max))


def _scale(xp, x, *, scale, bias, bias_after_scale):
    if not bias:
        return x * scale
    return x * scale + bias if bias_after_scale else (x + bias) * scale


def _copy(xp, x):
    """A copy, in native byte order."""
    return np.array(x, native(x.dtype)) if xp is np else xp.asarray(x, copy=True)


map_values(ops.abs, lambda xp, x: xp.abs(x))
map_values(ops.square, lambda xp, x: xp.square(x))
map_values(ops.sqrt, lambda xp, x: xp.sqrt(x))
map_values(ops.clip_by_value, _clip, whole=ops.whole_bounds)
map_values(ops.scale, _scale, merge="bias", whole=ops.whole_numbers)
map_values(ops.assign, _copy, merge=False)


def _backward(op, function, saved):
    """Register a gradient, ``function(xp, saved, grad, **attributes)``, for both devices."""

    def kernel(x, grad, /, **attrs):
        check_gradient(grad, x.shape)
        dtype = check_values(dtype_of(x), op.name)
        with np.errstate(all="ignore"):
            return round_to(function(namespace(x), upcast_half(x), upcast_half(grad), **attrs), dtype)

    op.kernel("cpu")(op.kernel("cuda")(kernel))


def _mask_gradient(xp, x, grad, *, min, max):
    return xp.where(xp.logical_and(x >= min, x <= max), grad, xp.zeros_like(grad))


_backward(ops.abs_grad, lambda xp, x, grad: grad * xp.sign(x), "x")
_backward(ops.sqrt_grad, lambda xp, out, grad: grad / (2 * out), "out")
_backward(ops.clip_by_value_grad, _mask_gradient, "x")


def _numbers(x):
    return refuse_no_numbers(x, "x") if isinstance(x, np.ndarray) else x


_WHOLE = {
    ops.isfinite: lambda xp, x: xp.all(xp.isfinite(_numbers(x))),
    ops.isinf: lambda xp, x: xp.any(xp.isinf(_numbers(x))),
    ops.isnan: lambda xp, x: xp.any(xp.isnan(_numbers(x))),
}


def map_whole(op, function, devices=BOTH):
    """Register an operator of all elements, whose kernel gives an array without dimensions."""

    def reduce_dense(x: Dense, /):
        xp = namespace(x)
        return xp.reshape(xp.asarray(function(xp, xp.asarray(x))), (1,))

    def reduce_ragged(x: LoDTensor, /):
        return reduce_dense(x.values)

    def reduce_selected(x: SelectedRows, /):
        return reduce_dense(x.merge().value)

    for kernel in (reduce_dense, reduce_ragged, reduce_selected):
        for device in devices:
            op.kernel(device)(kernel)


for _op, _function in _WHOLE.items():
    map_whole(_op, _function)


def map_norms(norm, device):
    """Register what takes norms: ``norm(xp, x)`` is one in double precision, an array without dimensions."""

    def clip(xp, x, *, max_norm):
        ops.check_norm(max_norm)
        found = norm(xp, x)
        factor = xp.where(found <= max_norm, xp.ones_like(found), max_norm / found)
        return x * (factor.astype(x.dtype) if xp is np else xp.astype(factor, x.dtype))

    def norm_of_all(xp, x):
        dtype = check_values(dtype_of(x), "norm")
        with np.errstate(over="ignore"):
            return round_to(norm(xp, x), dtype)

    map_values(ops.clip_by_norm, clip, devices=[device])
    map_whole(ops.norm, norm_of_all, devices=[device])
