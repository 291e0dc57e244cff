"""Reduce the first or the last dimensions of an array, each column up to its length."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..arrays import FLOATING, ORDERED, check_gradient, check_values
from ..base.errors import LoDError, ShapeMismatchError
from ..lod import check_lengths
from ..registry import Dense, op
from .conversions import lengths_to_offsets
from .shared.reductions import (
    Reduction,
    check_weights,
    reduce_segments,
    reduce_segments_grad,
    result_dtype,
    weights_grad,
)

DOCS_PAGE = "pool"
SEARCH_WORDS = {"reduce_dims": "sum over axes, reduce_sum, reduce_mean"}

Where = Literal["front", "back"]


def split_dims(shape, where, num_dims):
    """Reduced and kept dimensions."""
    if not 0 <= num_dims <= len(shape):
        raise ShapeMismatchError(f"num_dims = {num_dims} of an array of shape {tuple(shape)}; pass 0 to {len(shape)}")
    if where == "front":
        return shape[:num_dims], shape[num_dims:]
    return shape[len(shape) - num_dims :], shape[: len(shape) - num_dims]


def check_columns(data, weights, lengths, where, num_dims, reduce):
    """Check weights, one per row, and lengths, one per column. Returns rows, columns and the kept dimensions."""
    result_dtype(data.dtype, reduce, may_ask=False)
    reduced, kept = split_dims(data.shape, where, num_dims)
    rows, columns = math.prod(reduced), math.prod(kept)
    if weights is not None:
        if where == "back" or lengths is not None:
            raise ValueError("weights have a meaning at the front, without lengths; there is one per row")
        check_weights(weights, rows, data.dtype, reduce)
    if lengths is not None and tuple(lengths.shape) != (columns,):
        raise LoDError(f"lengths have shape {tuple(lengths.shape)}, but there are {columns} columns; pass one for each")
    return rows, columns, kept


def check_longest(lengths, rows):
    """Refuse a length greater than the number of reduced elements."""
    if len(lengths) and lengths.max() > rows:
        i = int(np.argmax(lengths > rows))
        raise LoDError(f"lengths[{i}] = {lengths[i]}, but only {rows} elements are reduced")


def check_grad_output(kept, out, grad):
    """Refuse a gradient, or a result, of other dimensions than the kept ones."""
    check_gradient(grad, kept)
    check_gradient(out, kept, "out")


def _as_segments(data, weights, lengths, where, num_dims, reduce):
    """Elements column by column, offsets of the columns, a weight and a position for each element."""
    rows, columns, _ = check_columns(data, weights, lengths, where, num_dims, reduce)
    lengths = np.full(columns, rows) if lengths is None else check_lengths(lengths)
    check_longest(lengths, rows)
    positions = np.arange(data.size).reshape((rows, columns) if where == "front" else (columns, rows))
    positions = positions.T if where == "front" else positions
    positions = np.concatenate([[], *(p[:n] for p, n in zip(positions, lengths, strict=True))]).astype(np.int64)
    weights = None if weights is None else np.tile(weights, columns)
    return data.reshape(-1)[positions], lengths_to_offsets.definition(lengths), weights, positions


@op(types=ORDERED)
def reduce_dims(
    data: Dense,
    weights: Dense | None = None,
    lengths: Dense | None = None,
    /,
    *,
    reduce: Reduction = "sum",
    where: Where = "front",
    num_dims: int = 1,
) -> Dense:
    """Reduce the first, or the last, dimensions of an array.

    The operator corresponds to Caffe2's ReduceFront and ReduceBack {Sum, Mean, Max}, and ReduceFrontWeightedSum.

    Parameters
    ----------
    data : array
    weights : array of shape (product of the reduced dimensions,), optional
        Only for sum and mean, with ``where="front"``. The mean divides by the sum of the weights; if this sum is 0,
        the mean is 0.
    lengths : array of int, optional
        Numbers of elements that are reduced, one per element of the result; by default all elements are reduced.
    where : {"front", "back"}
    num_dims : int
        Number of reduced dimensions.

    Returns
    -------
    array
        Has the dimensions that are not reduced. An element without reduced elements is 0.

    Raises
    ------
    ShapeMismatchError
        The array has fewer than ``num_dims`` dimensions.
    LoDError
        Weights are not one per row, lengths are not one per column, or a length is out of range.
    DTypeError
        ``reduce`` is "mean", and the data are integers.
    ValueError
        Weights are passed with a reduction other than sum and mean, with ``where="back"``, or with lengths.

    Examples
    --------
    >>> reduce_dims(np.array([[1., 2.], [3., 4.]]), reduce="mean")
    array([2., 3.])
    >>> reduce_dims(np.array([[1., 2.], [3., 4.]]), None, [2, 1], where="back")
    array([3., 3.])
    """
    elements, offsets, weights, _ = _as_segments(data, weights, lengths, where, num_dims, reduce)
    result = reduce_segments(elements, offsets, weights, reduce, 0.0)
    return result.reshape(split_dims(data.shape, where, num_dims)[1])


@reduce_dims.infer_rule
def _(data, weights=None, lengths=None, *, reduce="sum", where="front", num_dims=1):
    kept = split_dims(data.dims, where, num_dims)[1]
    return data.but(dims=tuple(kept), dtype=result_dtype(data.dtype, reduce, may_ask=False), lod_level=0)


@reduce_dims.gradient(reads_outputs=True)
def _(call, grad):
    data, weights, lengths = (*call.inputs, None, None)[:3]
    inputs = data, call.outputs[0], grad, weights
    by_data = reduce_dims_grad(*inputs, lengths, **call.attrs) if call.wanted[0] else None
    wanted = weights is not None and call.wanted[1]
    attrs = {k: v for k, v in call.attrs.items() if k != "where"}
    return by_data, reduce_dims_weights_grad(*inputs, **attrs) if wanted else None


@op(like="data", types=FLOATING)
def reduce_dims_grad(
    data: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense | None = None,
    lengths: Dense | None = None,
    /,
    *,
    reduce: Reduction = "sum",
    where: Where = "front",
    num_dims: int = 1,
) -> Dense:
    """Return the gradient of ``reduce_dims`` by its data; elements beyond their column's length get 0.

    >>> reduce_dims_grad(np.zeros((2, 2)), np.zeros(2), np.array([2., 4.]), reduce="mean")
    array([[1., 2.],
           [1., 2.]])
    """
    check_values(data.dtype, "the gradient", floating=True)
    elements, offsets, weights, positions = _as_segments(data, weights, lengths, where, num_dims, reduce)
    check_grad_output(split_dims(data.shape, where, num_dims)[1], out, grad)
    result = np.zeros(data.size, data.dtype)
    result[positions] = reduce_segments_grad(elements, offsets, weights, out.reshape(-1), grad.reshape(-1), reduce)
    return result.reshape(data.shape)


@op(like="weights", types=FLOATING)
def reduce_dims_weights_grad(
    data: Dense, out: Dense, grad: Dense, weights: Dense, /, *, reduce: Reduction = "sum", num_dims: int = 1
) -> Dense:
    """Return the gradient of ``reduce_dims`` at the front by its weights.

    >>> reduce_dims_weights_grad(np.array([[1., 2.], [3., 4.]]), np.zeros(2), np.ones(2), np.ones(2))
    array([3., 7.])
    """
    rows, columns, kept = check_columns(data, weights, None, "front", num_dims, reduce)
    check_grad_output(kept, out, grad)
    values, out, grad = data.reshape(rows, columns), out.reshape(1, columns), grad.reshape(1, columns)
    return weights_grad(values, np.array([0, rows]), weights, out, grad, reduce)


@reduce_dims.example
def _(dtype):
    data = np.ones((3, 4), dtype)
    return [((data, np.ones(3, dtype)), {})] + [((data,), {"reduce": reduce}) for reduce in ("sum", "max")]
