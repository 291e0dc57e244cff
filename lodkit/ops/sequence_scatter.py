"""Add what sequences list to rows of a dense array, a sequence a row (Paddle's sequence_scatter)."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import check_gradient, check_values, integers, native
from ..errors import DTypeError, LoDMismatchError, RowIndexError, ShapeMismatchError
from ..lod.levels import mismatch
from ..lod.lod_tensor import LoDTensor
from ..registry import Dense, op


def check_target(values, ids):
    """A row of ``values`` for every innermost sequence of ids, which are a vector."""
    check_values(values.dtype, "sequence_scatter")
    count = len(ids.row_offsets()) - 1
    if len(values.shape) < 2:
        raise ShapeMismatchError(
            f"sequence_scatter: x has shape {tuple(values.shape)}; it must be (sequences, n, *item)"
        )
    if len(ids.shape) != 1:
        raise ShapeMismatchError(f"sequence_scatter: ids have shape {ids.shape}, not one dimension; pass one column")
    if values.shape[0] != count:
        raise LoDMismatchError(
            f"sequence_scatter: x has {values.shape[0]} rows for {count} sequences of ids; pass one each"
        )


def check_updates(values, ids, updates, dtype):
    """An update like the items of ``values`` for every id, of its type."""
    if not updates.same_lod(ids):
        raise mismatch("sequence_scatter: updates against ids", updates, ids)
    if math.prod(updates.shape[1:]) != math.prod(values.shape[2:]):
        raise ShapeMismatchError(
            f"sequence_scatter: updates have items of shape {updates.shape[1:]}, x of {tuple(values.shape[2:])}"
        )
    if native(dtype) != native(values.dtype):
        raise DTypeError(f"sequence_scatter: updates are {dtype}, x {values.dtype}; convert with .astype(...)")


def bad_id(ids, height, at):
    return RowIndexError(f"ids: {ids[at]} at position {at} is outside [0, {height}) (the elements of a row of x)")


def _places(x, ids):
    """Row and element of x for every id."""
    numbers = integers(ids.values, "ids")
    for at in np.flatnonzero((numbers < 0) | (numbers >= x.shape[1])):
        raise bad_id(numbers, x.shape[1], at)
    return np.array([s for s, n in enumerate(ids.lengths()) for _ in range(n)], np.int64), numbers


@op
def sequence_scatter(x: Dense, ids: LoDTensor, updates: LoDTensor, /) -> Dense:
    """Return x with ``updates[t]`` added to element ``ids[t]`` of the row of t's sequence.

    sequence_scatter of Paddle, which does not check ids. All of several updates for one element count, with the same
    result on every run.

    Parameters
    ----------
    x : array of shape (sequences, n, *item)
        A row for every innermost sequence of ids.
    ids : LoDTensor of int32 or int64
        Of shape ``(rows,)``, each inside ``[0, n)``.
    updates : LoDTensor
        ``(rows, *item)``, of the structure of ids; an item may have another shape of as many elements, such as (1,).

    Returns
    -------
    array like x

    Raises
    ------
    RowIndexError
        An id is outside; nothing is written.
    LoDMismatchError
        Ids and updates differ in structure, or x has not a row for each sequence.

    Examples
    --------
    >>> ids = LoDTensor([0, 2, 0, 1], [[3, 1]])
    >>> sequence_scatter(np.ones((2, 3)), ids, ids.with_values(np.array([1., 2., 4., 8.])))
    array([[6., 1., 3.],
           [1., 9., 1.]])
    """
    check_target(x, ids)
    check_updates(x, ids, updates, updates.dtype)
    out = x.astype(np.int64 if x.dtype.kind == "i" else np.float64)
    np.add.at(out, _places(x, ids), updates.values.reshape(len(ids.values), *x.shape[2:]).astype(out.dtype))
    return out.astype(native(x.dtype))


@sequence_scatter.infer_rule
def _(x, ids, updates):
    return x


@sequence_scatter.gradient
def _(call, grad):
    return grad, None, sequence_scatter_grad(*call.inputs, grad) if call.wanted[2] else None


@op
def sequence_scatter_grad(x: Dense, ids: LoDTensor, updates: LoDTensor, grad: Dense, /) -> Dense:
    """Return the gradient of ``sequence_scatter`` by its updates; by x it is what flows in.

    >>> ids = LoDTensor([1, 1, 0], [[3]])
    >>> sequence_scatter_grad(np.ones((1, 2)), ids, ids.with_values(np.ones(3)), np.array([[3., 5.]]))
    array([5., 5., 3.])
    """
    check_target(x, ids)
    check_updates(x, ids, updates, updates.dtype)
    check_values(x.dtype, "the gradient", floating=True)
    return check_gradient(grad, x.shape)[_places(x, ids)].reshape(updates.shape).astype(native(x.dtype))


@sequence_scatter_grad.infer_rule
def _(x, ids, updates, grad):
    return updates.but(lod_level=0)


_IDS = [1, 0], [[2]]


@sequence_scatter.example
def _(dtype):
    return [((np.ones((1, 2, 2), dtype), LoDTensor(*_IDS), LoDTensor(np.ones((2, 2), dtype), _IDS[1])), {})]
