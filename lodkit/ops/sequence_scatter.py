"""Add the updates that each sequence lists to its row of a dense array (Paddle's sequence_scatter)."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import COMPUTED, FLOATING, check_gradient, check_values, mixed_types, native
from ..base.errors import LoDMismatchError, RowIndexError, ShapeMismatchError
from ..lod import LoDTensor, mismatch
from ..registry import Dense, op
from .shared.tables import check_ids

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {"sequence_scatter": "scatter_nd_add, add at ids"}


def prepare(x, ids, updates):
    """Check everything but the numbers of ids: x has a row per innermost sequence, updates an item per id.

    Returns the type of the result.
    """
    dtype = check_values(x.dtype, "sequence_scatter")
    count = len(ids._row_offsets()) - 1
    if len(x.shape) < 2:
        raise ShapeMismatchError(f"sequence_scatter: x has shape {tuple(x.shape)}; it must be (sequences, n, *item)")
    if len(ids.shape) != 1:
        raise ShapeMismatchError(f"sequence_scatter: ids have shape {ids.shape}, not one dimension; pass one column")
    if x.shape[0] != count:
        raise LoDMismatchError(f"sequence_scatter: x has {x.shape[0]} rows for {count} sequences of ids; pass one each")
    if not updates.same_lod(ids):
        raise mismatch("sequence_scatter: updates against ids", updates, ids)
    item, expected = updates.shape[1:], tuple(x.shape[2:])
    if item != expected and math.prod(item) != math.prod(expected):
        raise ShapeMismatchError(f"sequence_scatter: updates have items of shape {item}, x of {expected}")
    if native(updates.dtype) != dtype:
        raise mixed_types("sequence_scatter: updates", updates.dtype, "x", dtype)
    return dtype


def prepare_grad(x, ids, updates, grad):
    """Check the inputs of the gradient; ``grad`` must have the shape of x."""
    prepare(x, ids, updates)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, x.shape)
    return dtype


def bad_element(width):
    """Factory of the error for an id outside a row of ``width`` elements."""

    def error(ids, at):
        return RowIndexError(f"ids: {ids[at]} at position {at} is outside [0, {width}) (the elements of a row of x)")

    return error


def _places(x, ids):
    """Row and element of x for every id."""
    numbers = check_ids(ids.values, x.shape[1], error=bad_element(x.shape[1]))
    return np.array([s for s, n in enumerate(ids.lengths()) for _ in range(n)], np.int64), numbers


@op(like="x", types=COMPUTED)
def sequence_scatter(x: Dense, ids: LoDTensor, updates: LoDTensor, /) -> Dense:
    """Return a copy of x with each update added to an element of the row of its sequence.

    Update t is added to element ``ids[t]`` of the row. If several updates have the same element, all of these updates
    are added, with the same result on every run. The operator corresponds to Paddle's sequence_scatter, which does not
    check ids.

    Parameters
    ----------
    x : array of shape (sequences, n, *item)
        One row per innermost sequence of ids.
    ids : LoDTensor of int32 or int64
        The element of each update, in ``[0, n)``; shape ``(rows,)``.
    updates : LoDTensor
        The values to add, of shape ``(rows, *item)``, in the structure of ids. An item may have another shape with the
        same number of elements, such as (1,).

    Returns
    -------
    array like x

    Raises
    ------
    RowIndexError
        An id is outside ``[0, n)``; nothing is written.
    LoDMismatchError
        Ids and updates have different structures, or x does not have one row per innermost sequence of ids.

    Examples
    --------
    >>> ids = LoDTensor([0, 2, 0, 1], [[3, 1]])
    >>> sequence_scatter(np.ones((2, 3)), ids, ids.with_values(np.array([1., 2., 4., 8.])))
    array([[6., 1., 3.],
           [1., 9., 1.]])
    """
    dtype = prepare(x, ids, updates)
    out = x.astype(np.int64 if x.dtype.kind == "i" else np.float64)
    np.add.at(out, _places(x, ids), updates.values.reshape(len(ids.values), *x.shape[2:]).astype(out.dtype))
    return out.astype(dtype)


@sequence_scatter.gradient
def _(call, grad):
    return grad, None, sequence_scatter_grad(*call.inputs, grad) if call.wanted[2] else None


@op(like="updates", types=FLOATING)
def sequence_scatter_grad(x: Dense, ids: LoDTensor, updates: LoDTensor, grad: Dense, /) -> Dense:
    """Return the gradient of ``sequence_scatter`` by its updates; by x it is ``grad``.

    >>> ids = LoDTensor([1, 1, 0], [[3]])
    >>> sequence_scatter_grad(np.ones((1, 2)), ids, ids.with_values(np.ones(3)), np.array([[3., 5.]]))
    array([5., 5., 3.])
    """
    dtype = prepare_grad(x, ids, updates, grad)
    return grad[_places(x, ids)].reshape(updates.shape).astype(dtype)


_IDS = [1, 0], [[2]]


@sequence_scatter.example
def _(dtype):
    return [((np.ones((1, 2, 2), dtype), LoDTensor(*_IDS), LoDTensor(np.ones((2, 2), dtype), _IDS[1])), {})]
