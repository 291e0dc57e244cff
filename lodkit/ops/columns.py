"""Arrays side by side, and apart again; columns of one beside each other."""

from __future__ import annotations

import math
import operator
import typing

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_rows, check_values, mixed_types, native
from ..base.errors import RowIndexError, ShapeMismatchError
from ..registry import Dense, VarDesc, keeps_bfloat16, op, takes_bfloat16

DOCS_PAGE = "layers"
SEARCH_WORDS = {
    "concat_columns": "concatenate columns, hstack, feature concatenation, cat dim=1",
    "slice_columns": "split columns, narrow",
}


def check_columns(xs, grad=None):
    """Check arrays to put side by side, and their gradient. Returns the type of all, and the width of each."""
    if not xs:
        raise TypeError("concat_columns takes at least one input")
    for i, x in enumerate(xs):
        if len(x.shape) not in (1, 2):
            raise ShapeMismatchError(f"concat_columns: input {i} has shape {tuple(x.shape)}; give (rows, width)")
        if x.shape[0] != xs[0].shape[0]:
            raise ShapeMismatchError(f"concat_columns: input {i} has {x.shape[0]} rows, input 0 {xs[0].shape[0]}")
        if x.dtype != xs[0].dtype and native(x.dtype) != native(xs[0].dtype):
            raise mixed_types(f"concat_columns: input {i}", x.dtype, "input 0", xs[0].dtype)
        dtype = check_values(x.dtype, "concat_columns", floating=grad is not None)
    widths = [math.prod(x.shape[1:]) for x in xs]
    if grad is not None:
        check_gradient(grad, (xs[0].shape[0], sum(widths)))
    return dtype, widths


@op(types=MOVED)
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


@op(like=("xs",), gradient_of=concat_columns, types=FLOATING)
def concat_columns_grad(grad: Dense, /, *xs: Dense) -> tuple:
    """Return the gradients of ``concat_columns``: the columns of each input.

    >>> concat_columns_grad(np.array([[1.0, 2.0]]), np.zeros((1, 1)), np.zeros(1))
    (array([[1.]]), array([2.]))
    """
    ends = np.cumsum(check_columns(xs, grad)[1])
    parts = np.split(grad, ends[:-1], axis=1)
    return tuple(part.reshape(x.shape).astype(x.dtype) for part, x in zip(parts, xs, strict=True))


def pairs_of(ranges):
    """Ranges as a list of pairs of integers, and the sum of their widths."""
    try:
        pairs = [(operator.index(start), operator.index(stop)) for start, stop in ranges]
    except (TypeError, ValueError) as error:
        raise TypeError(f"ranges must be a list of (start, stop), integers, got {ranges!r}") from error
    return pairs, sum(stop - start for start, stop in pairs)


def check_ranges(x, ranges, grad=None):
    """Check ranges of columns, and their gradient.

    Returns the type of the values, the ranges as pairs of integers, and the sum of their widths.
    """
    dtype = check_values(check_rows(x, "x").dtype, "slice_columns", floating=grad is not None)
    columns, (pairs, width) = math.prod(x.shape[1:]), pairs_of(ranges)
    for i, (start, stop) in enumerate(pairs):
        if not 0 <= start <= stop <= columns:
            raise RowIndexError(
                f"ranges[{i}] = ({start}, {stop}) is outside the {columns} columns; 0 <= start <= stop <= {columns}"
            )
    if grad is not None:
        check_gradient(grad, (x.shape[0], width))
    return dtype, pairs, width


@op(rowwise=("x",), types=MOVED)
def slice_columns(x: Dense, /, *, ranges: typing.Any) -> Dense:
    """Put ranges of the columns of each row side by side: the SliceProjection of the LoD review.

    Parameters
    ----------
    x : array of shape (rows, *item), or LoDTensor
        Items of several dimensions are read in order. A LoDTensor keeps its structure.
    ranges : list of (start, stop)
        In any order; they may overlap.

    Returns
    -------
    array of shape (rows, sum of the ranges' widths), or LoDTensor

    Raises
    ------
    RowIndexError
        A range is not inside the columns; the message names it.

    >>> slice_columns(np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), ranges=[(2, 4), (0, 1)])
    array([[3, 4, 1],
           [7, 8, 5]])
    """
    dtype, pairs, _ = check_ranges(x, ranges)
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    parts = [flat[:, :0], *(flat[:, a:b] for a, b in pairs)]
    return np.concatenate(parts, axis=1).astype(dtype)


@slice_columns.infer_rule
def _(x, *, ranges):
    return x.but(dims=(x.dims[0], pairs_of(ranges)[1]))


@op(rowwise=("x",), like="x", gradient_of=slice_columns, types=FLOATING)
def slice_columns_grad(x: Dense, grad: Dense, /, *, ranges: typing.Any) -> Dense:
    """Return the gradient of ``slice_columns``: the sum over the ranges that a column is in.

    >>> slice_columns_grad(np.zeros((1, 3)), np.array([[1.0, 2.0, 4.0]]), ranges=[(0, 2), (1, 2)])
    array([[1., 6., 0.]])
    """
    dtype, pairs, _ = check_ranges(x, ranges, grad)
    total, first = np.zeros((len(x), math.prod(x.shape[1:]))), 0
    for a, b in pairs:
        total[:, a:b] += grad[:, first : first + b - a]
        first += b - a
    return total.reshape(x.shape).astype(dtype)


concat_columns.example(lambda dtype: [((np.ones((2, 3), dtype), np.ones(2, dtype)), {})])
slice_columns.example(lambda dtype: [((np.ones((2, 3), dtype),), {"ranges": [(0, 2)]})])


takes_bfloat16(concat_columns, slice_columns)
keeps_bfloat16(slice_columns_grad)
