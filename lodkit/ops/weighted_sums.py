"""Weighted sums: of arrays, and into the rows of one."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_gradient, check_rows, check_values, mixed_types, native
from ..base.errors import ShapeMismatchError
from ..lod import values_of
from ..registry import Dense, op
from .scatter import check_target
from .shared import plain

DOCS_PAGE = "selected-rows"
SEARCH_WORDS = {
    "weighted_sum": "linear combination, axpy, lerp, average of models",
    "scatter_weighted_sum": "blend rows",
}


def pairs_of(name, rest):
    """Arrays and their weights, which alternate."""
    if len(rest) % 2 or not rest:
        raise TypeError(f"{name} adds arrays, each followed by its weight; got {len(rest)} of them after the others")
    return rest[::2], rest[1::2]


def check_weights(name, weights, dtype):
    """Check that each weight is one number, an integer where the values are integers."""
    for i, w in enumerate(weights):
        if math.prod(w.shape) != 1:
            raise ShapeMismatchError(f"{name}: weight {i} has shape {tuple(w.shape)}; it is one number")
        if w.dtype.kind not in ("iu" if dtype.kind == "i" else "fiu"):
            raise mixed_types(f"{name}: weight {i}", w.dtype, "the values", dtype)


def prepare_scatter(on, data, weight, ids, rest):
    """Check the inputs of scatter_weighted_sum. Returns the ids, the arrays to add, and their weights."""
    xs, weights = pairs_of("scatter_weighted_sum", rest)
    given, ids = ids, on.checked_ids(ids, len(check_rows(data, "data")))
    check_target("scatter_weighted_sum", data, ids.shape, [(f"x{i}", x) for i, x in enumerate(xs, 1)])
    check_weights("scatter_weighted_sum", (weight, *weights), data.dtype)
    on.refuse_overlap("data", data, (weight, given, *rest))
    return ids, xs, weights


def _definition_dtype(dtype):
    """The type in which the definitions compute."""
    return np.int64 if dtype.kind == "i" else np.float64


@op(updates=True, types=COMPUTED)
def scatter_weighted_sum(data: Dense, weight: Dense, ids: Dense, /, *rest: Dense) -> Dense:
    """Set ``data[ids] = weight * data[ids] + w1 * x1 + w2 * x2 ...``, in place; return the data.

    A row that ids list n times is multiplied by ``weight`` n times. The row then gets the sum of all its summands,
    rounded once. With weights of 1 the operator adds at the ids. The operator corresponds to Caffe2's
    ScatterWeightedSum.

    Parameters
    ----------
    data : array of shape (rows, *item)
    weight : number or array of one element
        With integer data all weights are integers.
    ids : array of int32 or int64 of any shape
    *rest : array of shape (*ids.shape, *item), number, and so on
        Alternating: an array to add, of the type of the data, and its weight.

    Raises
    ------
    RowIndexError
        An id is outside the rows; the data are unchanged.

    Examples
    --------
    >>> scatter_weighted_sum(np.ones(3), 1.0, [2, 0, 2], np.array([1., 2., 3.]), -0.5)
    array([ 0.,  1., -1.])
    """
    ids, xs, weights = prepare_scatter(plain, data, weight, ids, rest)
    rows, total = ids.reshape(-1), data.astype(_definition_dtype(data.dtype))
    for row in rows:
        total[row] *= np.reshape(weight, ())
    for x, w in zip(xs, weights, strict=True):
        np.add.at(total, rows, x.reshape(len(rows), *data.shape[1:]).astype(total.dtype) * np.reshape(w, ()))
    data[rows] = total[rows]
    return data


def prepare_sum(rest):
    """Check arrays and their weights, which alternate. Returns the type of the arrays, these, and the weights."""
    xs, weights = pairs_of("weighted_sum", rest)
    for i, x in enumerate(xs[1:], 1):
        if tuple(x.shape) != tuple(xs[0].shape):
            raise ShapeMismatchError(f"weighted_sum: array {i} has shape {tuple(x.shape)}, the first {xs[0].shape}")
        if native(x.dtype) != native(xs[0].dtype):
            raise mixed_types(f"weighted_sum: array {i}", x.dtype, "the first", xs[0].dtype)
    dtype = check_values(xs[0].dtype, "weighted_sum")
    check_weights("weighted_sum", weights, dtype)
    return dtype, xs, weights


@op(rowwise=("x", "rest"), like="x", types=COMPUTED)
def weighted_sum(x: Dense, weight: Dense, /, *rest: Dense) -> Dense:
    """Return ``weight * x + w1 * x1 + w2 * x2 ...``.

    The operator corresponds to Caffe2's WeightedSum.

    Parameters
    ----------
    x : array
    weight : number or array of one element
        With integer values all weights are integers.
    *rest : array like x, number, and so on
        Alternating: an array to add, and its weight.

    Raises
    ------
    TypeError
        An array has no weight.
    ShapeMismatchError
        The arrays have different shapes, or a weight is not one number.
    DTypeError
        The arrays have different types, or a weight of integers is not an integer.

    Examples
    --------
    >>> weighted_sum(np.array([1., 2.]), 0.5, np.array([10., 20.]), 2.0)
    array([20.5, 41. ])
    """
    dtype, xs, weights = prepare_sum((x, weight, *rest))
    total = np.zeros(x.shape, _definition_dtype(dtype))
    for one, w in zip(xs, weights, strict=True):
        total += one.astype(total.dtype) * np.reshape(w, ())
    return total.astype(dtype)


@weighted_sum.gradient
def _(call, grad):
    result = []
    for i, wanted in enumerate(call.wanted):
        x, weight = call.inputs[i - i % 2 : i - i % 2 + 2]
        by = weighted_sum_weights_grad(values_of(x), weight, grad) if wanted and i % 2 else None
        result.append(weighted_sum(grad, weight) if wanted and not i % 2 else by)
    return tuple(result)


def check_weights_grad(x, weight, grad):
    """Check the inputs of the gradient by a weight."""
    check_values(x.dtype, "the gradient", floating=True)
    check_values(weight.dtype, "the gradient by a weight", floating=True)
    check_weights("weighted_sum_weights_grad", (weight,), x.dtype)
    check_gradient(grad, x.shape)


@op(like="weight", types=FLOATING)
def weighted_sum_weights_grad(x: Dense, weight: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``weighted_sum`` by the weight of one array: the sum of ``x * grad``, like the weight.

    >>> weighted_sum_weights_grad(np.array([1., 2.]), np.array([0.5]), np.array([10., 1.]))
    array([12.])
    """
    check_weights_grad(x, weight, grad)
    total = (x.astype(np.float64) * grad).sum()
    return np.full(weight.shape, total, native(weight.dtype))


@scatter_weighted_sum.example
def _(dtype):
    ones = np.ones(2, dtype)
    return [((np.ones(3, dtype), ones[:1], np.array([2, 2]), ones, ones[:1]), {})]


weighted_sum.example(lambda dtype: [((np.ones(3, dtype), np.ones(1, dtype)), {})])
