"""Element by element: powers, bounds and scaling of arrays and of the value of SelectedRows.

What is not linear takes SelectedRows merged, so that it equals the same on the dense array's listed rows; rows that are
not listed stay 0.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import COMPUTED, FLOATING, MOVED, check_gradient, check_values
from ..arrays.objects import refuse_no_numbers
from ..lod import LoDTensor, SelectedRows, values_of
from ..registry import Dense, VarDesc, VarType, op, takes_bfloat16
from .products import elementwise_mul
from .selected_rows import gather_selected_rows, value_gradient

DOCS_PAGE = "layers"
SEARCH_WORDS = {
    "clip_by_norm": "gradient clipping, clip_grad_norm, max_norm",
    "clip_by_value": "clamp, clip_grad_value",
    "norm": "euclidean norm, l2 norm",
    "isfinite": "overflow check, GradScaler",
}


def apply_to_value(x, function, merge=True):
    """Apply a function to an array, or to the value of SelectedRows, merged unless the function is linear."""
    if not isinstance(x, SelectedRows):
        return np.asarray(function(x))
    x = x.merge() if merge else x
    return x._with_value(function(x.value))


def check_bounds(min, max):
    if not min <= max:
        raise ValueError(f"clip_by_value: min = {min} is not at most max = {max}")


def whole_bounds(dtype, min, max):
    """The bounds of integers of a type, inside those of the type; those that are not whole are refused."""
    limits, bounds = np.iinfo(dtype), {"min": min, "max": max}
    for name, bound in bounds.items():
        if not (math.isinf(bound) or float(bound).is_integer()):
            found = f"{name} = {bound} of {dtype}"
            raise ValueError(f"clip_by_value: {found}; pass a whole number, or x.astype(np.float64)")
    return {name: int(sorted((limits.min, bound, limits.max))[1]) for name, bound in bounds.items()}


def check_norm(max_norm):
    if not max_norm >= 0:
        raise ValueError(f"max_norm must be a number >= 0, got {max_norm}")


def _register_gradient(op, rule):
    """Register ``rule(x, out, grad, **attributes)``; for SelectedRows that of the merged value."""

    @op.gradient(reads_outputs=True)
    def _(call, grad):
        x, out = call.inputs[0], call.outputs[0]
        if not isinstance(x, SelectedRows):
            return rule(x, out, grad, **call.attrs)
        merged = x.merge()
        by_value = rule(merged.value, out.value, value_gradient(grad), **call.attrs)
        return gather_selected_rows(merged._with_value(by_value), x._rows)


@op(rowwise=True, like="x", types=COMPUTED)
def abs(x: Dense | SelectedRows, /) -> Dense | SelectedRows:
    """Return the absolute value of every element.

    >>> abs(SelectedRows([1, 1], [[-1.], [-2.]], 3))
    SelectedRows(rows=[1], value=[[3.]], height=3)
    """
    check_values(x.dtype, "abs")
    return apply_to_value(x, np.abs)


_register_gradient(abs, lambda x, out, grad: abs_grad(x, grad))  # type: ignore[has-type]


@op(rowwise=True, like="x", types=FLOATING)
def abs_grad(x: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``abs``: ``grad * sign(x)``.

    >>> abs_grad(np.array([-2., 0., 3.]), np.array([5., 5., 5.]))
    array([-5.,  0.,  5.])
    """
    check_gradient(grad, x.shape)
    return (grad * np.sign(x)).astype(check_values(x.dtype, "abs_grad"))


@op(rowwise=True, like="x", types=COMPUTED)
def square(x: Dense | SelectedRows, /) -> Dense | SelectedRows:
    """Return the square of every element.

    >>> square(SelectedRows([1, 1], [[1.], [2.]], 3))
    SelectedRows(rows=[1], value=[[9.]], height=3)
    """
    check_values(x.dtype, "square")
    return apply_to_value(x, np.square)


_register_gradient(square, lambda x, out, grad: elementwise_mul(scale(x, scale=2.0), values_of(grad)))  # type: ignore[has-type]


@op(rowwise=True, like="x", types=FLOATING)
def sqrt(x: Dense | SelectedRows, /) -> Dense | SelectedRows:
    """Return the square root of every element, NaN of negative ones.

    >>> sqrt(np.array([4., 9.]))
    array([2., 3.])
    """
    check_values(x.dtype, "sqrt")
    with np.errstate(invalid="ignore"):
        return apply_to_value(x, np.sqrt)


_register_gradient(sqrt, lambda x, out, grad: sqrt_grad(out, grad))  # type: ignore[has-type]


@op(rowwise=True, like="out", types=FLOATING)
def sqrt_grad(out: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``sqrt`` by its input, from its result.

    >>> sqrt_grad(np.array([2.]), np.array([8.]))
    array([2.])
    """
    check_gradient(grad, out.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (grad / (2 * out.astype(np.float64))).astype(check_values(out.dtype, "sqrt_grad"))


@op(rowwise=True, like="x", types=COMPUTED)
def clip_by_value(x: Dense | SelectedRows, /, *, min: float, max: float) -> Dense | SelectedRows:
    """Return every element, ``min`` where it is less and ``max`` where it is more; NaN stays.

    The operator corresponds to Paddle's clip.

    For integers, both bounds are whole, or infinite.

    >>> clip_by_value(np.array([-3., 0.5, 3.]), min=-1.0, max=1.0)
    array([-1. ,  0.5,  1. ])
    """
    dtype = check_values(x.dtype, "clip_by_value")
    check_bounds(min, max)
    if dtype.kind == "i":
        bounds = whole_bounds(dtype, min, max)
        return apply_to_value(x, lambda value: np.clip(value.astype(dtype), **bounds))
    return apply_to_value(x, lambda value: np.clip(value.astype(np.float64), min, max).astype(dtype))


_register_gradient(clip_by_value, lambda x, out, grad, **bounds: clip_by_value_grad(x, grad, **bounds))  # type: ignore[has-type]


@op(rowwise=True, like="x", types=FLOATING)
def clip_by_value_grad(x: Dense, grad: Dense, /, *, min: float, max: float) -> Dense:
    """Return the gradient of ``clip_by_value``: the output gradient if the element was inside the bounds, else 0.

    >>> clip_by_value_grad(np.array([-3., 0.5]), np.array([5., 5.]), min=-1.0, max=1.0)
    array([0., 5.])
    """
    check_gradient(grad, x.shape)
    dtype = check_values(x.dtype, "clip_by_value_grad")
    return np.where((x >= min) & (x <= max), grad, 0).astype(dtype)


@op(rowwise=True, like="x", types=FLOATING)
def clip_by_norm(x: Dense | SelectedRows, /, *, max_norm: float) -> Dense | SelectedRows:
    """Return ``x`` scaled so that its Euclidean norm is at most ``max_norm``, in double precision; itself if it is.

    >>> clip_by_norm(SelectedRows([1, 1, 2], [[1.], [2.], [4.]], 3), max_norm=1.0)
    SelectedRows(rows=[1, 2], value=[[0.6], [0.8]], height=3)
    """
    dtype = check_values(x.dtype, "clip_by_norm")
    check_norm(max_norm)

    def clip(value):
        norm = np.sqrt(np.square(value.astype(np.float64)).sum())
        return value.astype(dtype) if norm <= max_norm else (value * (max_norm / norm)).astype(dtype)

    return apply_to_value(x, clip)


def whole_numbers(dtype, scale, bias, **others):
    """The numbers by which integers of a type are scaled; those that are not whole, or that it lacks, are refused."""
    for name, number in (("scale", scale), ("bias", bias)):
        whole = float(number).is_integer() and abs(number) <= np.iinfo(dtype).max
        if not whole:
            raise ValueError(f"scale: {name} = {number} of {dtype}; pass a whole number of it, or x.astype(np.float64)")
    return {"scale": int(scale), "bias": int(bias), **others}


@op(rowwise=True, like="x", types=COMPUTED)
def scale(
    x: Dense | SelectedRows, /, *, scale: float = 1.0, bias: float = 0.0, bias_after_scale: bool = True
) -> Dense | SelectedRows:
    """Return ``scale * x + bias``, or ``scale * (x + bias)``.

    The operator corresponds to Paddle's scale.

    For integers, both numbers are whole, and the result has their type and wraps around.

    >>> scale(SelectedRows([1, 1], [[1.], [2.]], 3), scale=0.5)
    SelectedRows(rows=[1, 1], value=[[0.5], [1.]], height=3)
    """
    dtype = check_values(x.dtype, "scale")
    wide = np.int64 if dtype.kind == "i" else np.float64
    if dtype.kind == "i":
        scale, bias = whole_numbers(dtype, scale, bias).values()
    if bias_after_scale:
        return apply_to_value(x, lambda v: (v.astype(wide) * scale + bias).astype(dtype), merge=bool(bias))
    return apply_to_value(x, lambda v: ((v.astype(wide) + bias) * scale).astype(dtype), merge=bool(bias))


@scale.gradient
def _(call, grad):
    x, factor = call.inputs[0], call.attrs["scale"]
    if isinstance(x, SelectedRows) and call.attrs["bias"]:  # was merged
        merged = x.merge()
        return gather_selected_rows(merged._with_value(scale(value_gradient(grad), scale=factor)), x._rows)
    return scale(value_gradient(grad), scale=factor)


@op(rowwise=True, like="x", types=MOVED)
def assign(x: Dense | SelectedRows, /) -> Dense | SelectedRows:
    """Return a copy, of int8, int16, uint8 and bool too.

    >>> assign(np.array([1, 2]))
    array([1, 2])
    """
    return apply_to_value(x, lambda value: value.astype(check_values(x.dtype, "assign")), merge=False)


@assign.gradient
def _(call, grad):
    return assign(value_gradient(grad))


def value_of(x):
    """Return the array to test; of SelectedRows the merged value."""
    return x.merge().value if isinstance(x, SelectedRows) else values_of(x)


def as_tested(x):
    """Return the array to test; refuse a type that has no numbers."""
    return refuse_no_numbers(value_of(x), "x")


@op(types=MOVED)
def isfinite(x: Dense | LoDTensor | SelectedRows, /) -> Dense:
    """Return whether all elements are finite, shape ``(1,)``.

    The operator corresponds to Paddle's isfinite.

    >>> isfinite(SelectedRows([1], [[np.inf]], 3))
    array([False])
    """
    return np.isfinite(as_tested(x)).all(keepdims=True).reshape(1)


@op(types=MOVED)
def isinf(x: Dense | LoDTensor | SelectedRows, /) -> Dense:
    """Return whether any element is infinite, shape ``(1,)``.

    The operator corresponds to Paddle's isinf.

    >>> isinf(np.array([1., -np.inf]))
    array([ True])
    """
    return np.isinf(as_tested(x)).any(keepdims=True).reshape(1)


@op(types=MOVED)
def isnan(x: Dense | LoDTensor | SelectedRows, /) -> Dense:
    """Return whether any element is NaN, shape ``(1,)``.

    The operator corresponds to Paddle's isnan.

    >>> isnan(np.array([1., -np.inf]))
    array([False])
    """
    return np.isnan(as_tested(x)).any(keepdims=True).reshape(1)


@op(types=FLOATING)
def norm(x: Dense | LoDTensor | SelectedRows, /) -> Dense:
    """Return the Euclidean norm of all elements, summed in double precision, shape ``(1,)``.

    >>> norm(SelectedRows([1, 1, 2], [[1.], [2.], [4.]], 3))
    array([5.])
    """
    value = value_of(x)
    dtype = check_values(value.dtype, "norm")
    return np.sqrt(np.square(value.astype(np.float64)).sum()).astype(dtype).reshape(1)


@norm.infer_rule
def _(x):
    return VarDesc("", VarType.LOD_TENSOR, x.dtype, (1,))


for _test in (isfinite, isinf, isnan):
    _test.infer_rule(lambda x: VarDesc("", VarType.LOD_TENSOR, np.dtype(bool), (1,)))


def _example(**attrs):
    def example(dtype):
        return [((np.ones((3, 4), dtype if np.dtype(dtype).kind == "f" else np.float32),), attrs)]

    return example


for _operator in (abs, square, sqrt, assign, isfinite, isinf, isnan, norm):
    _operator.example(_example())
clip_by_value.example(_example(min=0.0, max=1.0))
clip_by_norm.example(_example(max_norm=1.0))
scale.example(_example(scale=2.0))


takes_bfloat16(assign)
