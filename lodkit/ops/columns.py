"""Arrays side by side, and apart again."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import check_gradient, check_values, native
from ..desc import VarDesc
from ..errors import DTypeError, ShapeMismatchError
from ..registry import Dense, op


def check_columns(xs, grad=None):
    """The width of each array that is put beside the others."""
    for i, x in enumerate(xs):
        if len(x.shape) not in (1, 2):
            raise ShapeMismatchError(f"concat_columns: input {i} has shape {tuple(x.shape)}; give (rows, width)")
        if x.shape[0] != xs[0].shape[0]:
            raise ShapeMismatchError(f"concat_columns: input {i} has {x.shape[0]} rows, input 0 {xs[0].shape[0]}")
        if native(x.dtype) != native(xs[0].dtype):
            raise DTypeError(f"concat_columns: input {i} is {x.dtype}, input 0 {xs[0].dtype}; use .astype(...)")
        check_values(x.dtype, "concat_columns", floating=grad is not None)
    widths = [math.prod(x.shape[1:]) for x in xs]
    if grad is not None:
        check_gradient(grad, (xs[0].shape[0], sum(widths)))
    return widths


@op
def concat_columns(*xs: Dense) -> Dense:
    """Put arrays side by side: ``(rows, width)`` each, or ``(rows,)`` for one column.

    >>> concat_columns(np.array([[1, 2], [3, 4]]), np.array([5, 6]))
    array([[1, 2, 5],
           [3, 4, 6]])
    """
    check_columns(xs)
    return np.concatenate([x.reshape(len(x), math.prod(x.shape[1:])) for x in xs], axis=1)


@concat_columns.infer_rule
def _(*xs):
    widths = [math.prod(x.dims[1:]) for x in xs]
    return VarDesc("", xs[0].type, xs[0].dtype, (xs[0].dims[0], -1 if min(widths) < 0 else sum(widths)))


@concat_columns.gradient
def _(call, grad):
    return concat_columns_grad(grad, *call.inputs)


@op
def concat_columns_grad(grad: Dense, /, *xs: Dense) -> tuple:
    """Return the gradients of ``concat_columns``: to each input its columns.

    >>> concat_columns_grad(np.array([[1.0, 2.0]]), np.zeros((1, 1)), np.zeros(1))
    (array([[1.]]), array([2.]))
    """
    ends = np.cumsum(check_columns(xs, grad))
    return tuple(part.reshape(x.shape).copy() for part, x in zip(np.split(grad, ends[:-1], axis=1), xs, strict=True))


@concat_columns_grad.infer_rule
def _(grad, *xs):
    return xs


concat_columns.example(lambda dtype: [((np.ones((2, 3), dtype), np.ones(2, dtype)), {})])
