"""Products of elements, of arrays whose axes of length 1 repeat, or of SelectedRows by numbers."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_values, dtype_of, mixed_types
from ..base.errors import ShapeMismatchError
from ..lod import SelectedRows, values_of
from ..registry import Dense, VarType, op
from .embedding import lookup_table
from .selected_rows import value_gradient
from .weighted_sums import weighted_sum_weights_grad

DOCS_PAGE = "layers"
SEARCH_WORDS = {"elementwise_mul": "multiply, product, hadamard", "sum_repeated": "unbroadcast, sum_to_shape"}


def aligned_shape(x, y, axis):
    """The shape of ``y`` with its first axis at ``axis`` of ``x``, from the shapes of both."""
    if axis == -1 or tuple(x) == tuple(y) or all(length == 1 for length in y):
        return tuple(y)
    if len(y) > len(x):
        found = f"axis = {axis} is one of x, of shape {tuple(x)}, and y has more, {tuple(y)}"
        raise ShapeMismatchError(f"elementwise_mul: {found}; exchange x and y")
    y = list(y)
    while len(y) + axis > len(x) and y[-1] == 1:
        del y[-1]
    if not 0 <= axis <= len(x) - len(y):
        raise ShapeMismatchError(
            f"elementwise_mul: axis = {axis} puts y of shape {tuple(y)} outside the {len(x)} axes of x; "
            f"pass 0 to {len(x) - len(y)}, or -1 for the last ones"
        )
    return (*y, *(1,) * (len(x) - axis - len(y)))


def _common_length(name, a, b):
    """The length of two axes side by side; -1 is unknown."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if -1 in (a, b):
        return max(a, b)
    raise ShapeMismatchError(name)


def product_shape(x, y, axis=-1):
    """The shape of a product, from the shapes of its factors: axes of length 1 repeat."""
    shape = aligned_shape(x, y, axis)
    rank = max(len(x), len(shape))
    padded = ((1,) * (rank - len(dims)) + tuple(dims) for dims in (x, shape))
    said = f"elementwise_mul: y has shape {tuple(y)}, x {tuple(x)}; give one number, one each, or 1 where axes repeat"
    return tuple(_common_length(said, a, b) for a, b in zip(*padded, strict=True))


def check_factor(x, y, axis=-1):
    """Refuse a factor of another type, or of a shape that does not repeat to one with ``x``. Returns the type."""
    dtype = check_values(dtype_of(getattr(x, "value", x)), "elementwise_mul")
    if dtype_of(y) != dtype:
        raise mixed_types("elementwise_mul: y", y.dtype, "x", dtype)
    if math.prod(y.shape) == 1 or tuple(y.shape) == tuple(x.shape):
        return dtype
    if isinstance(x, SelectedRows):
        raise ShapeMismatchError(
            f"elementwise_mul: y has shape {tuple(y.shape)}, x {tuple(x.shape)}; give one number, or one each"
        )
    product_shape(x.shape, y.shape, axis)
    return dtype


@op(rowwise=True, types=COMPUTED)
def elementwise_mul(x: Dense | SelectedRows, y: Dense, /, *, axis: int = -1) -> Dense | SelectedRows:
    """Return the products of elements: of one number, an array of the shape of ``x``, or one that repeats to it.

    Parameters
    ----------
    x : array, LoDTensor or SelectedRows
    y : array of the type of x
        Axes of length 1, of either array, repeat, as in NumPy. For SelectedRows one number, or an array of their shape.
    axis : int
        Position of the first axis of ``y`` among the axes of ``x``; by default the last axes of both are aligned.
        Paddle's.

    >>> elementwise_mul(SelectedRows([2], [[3., 4.]], 3), np.array([2.]))
    SelectedRows(rows=[2], value=[[6., 8.]], height=3)
    >>> elementwise_mul(np.array([[1., 2.], [3., 4.]]), np.array([10., 100.]), axis=0)
    array([[ 10.,  20.],
           [300., 400.]])
    """
    dtype = check_factor(x, y, axis)
    if isinstance(x, SelectedRows):
        factor = y.reshape(-1)[0] if y.size == 1 else y[x._rows]
        return x._with_value((x.value * factor).astype(dtype))
    return np.asarray(x * y.reshape(aligned_shape(x.shape, y.shape, axis)), dtype)


@elementwise_mul.infer_rule
def _(x, y, *, axis=-1):
    return x if x.type is VarType.SELECTED_ROWS else x.but(dims=product_shape(x.dims, y.dims, axis))


@elementwise_mul.gradient
def _(call, grad):
    x, y = call.inputs
    grad = values_of(value_gradient(grad))
    if isinstance(x, SelectedRows) and math.prod(y.shape) != 1:
        by_y = SelectedRows(x._rows, elementwise_mul(grad, x.value), x.height)
        return elementwise_mul(grad, lookup_table(y, x._rows)), by_y
    x, y = values_of(getattr(x, "value", x)), values_of(y)
    if y.shape == x.shape:
        return elementwise_mul(grad, y), elementwise_mul(grad, x)
    if math.prod(y.shape) == 1 and grad.shape == x.shape:
        return elementwise_mul(grad, y), weighted_sum_weights_grad(x, y, grad)
    axis = call.attrs["axis"]
    by_x = sum_repeated(elementwise_mul(grad, y, axis=axis), x) if call.wanted[0] else None
    by_y = sum_repeated(elementwise_mul(grad, x), y, axis=axis) if call.wanted[1] else None
    return by_x, by_y


def check_repeated(x, like, axis):
    """The axes along which an array like ``like`` was repeated to the shape of ``x``."""
    dtype = check_values(dtype_of(x), "sum_repeated")
    shape = aligned_shape(x.shape, like.shape, axis)
    shape = (1,) * (len(x.shape) - len(shape)) + shape
    if len(shape) != len(x.shape) or any(a not in (1, b) for a, b in zip(shape, x.shape, strict=True)):
        found = f"an array of shape {tuple(like.shape)} does not repeat to {tuple(x.shape)}"
        raise ShapeMismatchError(f"sum_repeated: {found} with axis = {axis}; pass an array whose axes are 1 or as in x")
    return dtype, tuple(i for i, (a, b) in enumerate(zip(shape, x.shape, strict=True)) if a != b)


@op(types=FLOATING)
def sum_repeated(x: Dense, like: Dense, /, *, axis: int = -1) -> Dense:
    """Sum along the axes on which an array like ``like`` repeats to the shape of ``x``: the gradient of repeating it.

    Parameters
    ----------
    x : array of float16, float32 or float64
    like : array
        Only its shape is read.
    axis : int
        As in elementwise_mul.

    >>> sum_repeated(np.array([[1., 2.], [3., 4.]]), np.zeros((2, 1)))
    array([[3.],
           [7.]])
    """
    dtype, axes = check_repeated(x, like, axis)
    return np.asarray(x.sum(axes, dtype=np.float64), dtype).reshape(like.shape)


@sum_repeated.infer_rule
def _(x, like, *, axis=-1):
    return x.but(dims=like.dims, lod_level=0)


def _examples(dtype):
    x = np.ones((3, 4), dtype if np.dtype(dtype).kind == "f" else np.float32)
    return x, [((x, y), {}) for y in (x[0, :1].copy(), x.copy(), x[:, :1].copy())]


elementwise_mul.example(lambda dtype: _examples(dtype)[1])
sum_repeated.example(lambda dtype: [((_examples(dtype)[0], np.ones((3, 1))), {})])
