"""Scatter rows or single elements by index: of several for one place the last one stays."""

from __future__ import annotations

import math
import operator

import numpy as np

from ..arrays import (
    COMPUTED,
    FLOATING,
    MOVED,
    Drafts,
    check_gradient,
    check_rows,
    check_values,
    mixed_types,
    native,
    writable,
)
from ..base.errors import ShapeMismatchError, bad_along
from ..registry import Dense, op
from .gather_scatter import check_axis
from .shared import plain

DOCS_PAGE = "selected-rows"
SEARCH_WORDS = {
    "scatter": "put_along_axis, index_put",
    "scatter_assign": "index_copy, scatter_nd_update, assign rows, set rows",
}


def check_target(name, data, ids_shape, rows):
    """Refuse data that rows cannot be written into, and rows that do not fit; ids are checked elsewhere."""
    check_values(check_rows(writable(data, f"{name}: data"), "data").dtype, name)
    for what, x in rows:
        if native(x.dtype) != native(data.dtype):
            raise mixed_types(f"{name}: {what}", x.dtype, "data", data.dtype)
        if tuple(x.shape) != (*ids_shape, *data.shape[1:]):
            raise ShapeMismatchError(
                f"{name}: {what} has shape {tuple(x.shape)}; a row of data for every id is "
                f"{(*ids_shape, *data.shape[1:])}"
            )


@op(updates=True, types=MOVED)
def scatter_assign(data: Dense, ids: Dense, slices: Dense, /) -> Dense:
    """Write ``data[ids] = slices``, in place; return the data. The last row for an id stays.

    The operator corresponds to Caffe2's ScatterAssign.

    Parameters
    ----------
    data : array of shape (rows, *item)
    ids : array of int32 or int64 of any shape
    slices : array of shape (*ids.shape, *item)
        Has the type of the data.

    Raises
    ------
    RowIndexError
        An id outside the rows; nothing is written.

    Examples
    --------
    >>> scatter_assign(np.zeros(4), [2, 0, 2], np.array([1., 2., 3.]))
    array([2., 0., 3., 0.])
    """
    ids = prepare_assign(plain, data, ids, slices)
    with Drafts(data) as (after,):
        for row, value in zip(ids.reshape(-1), slices.reshape(ids.size, *data.shape[1:]), strict=True):
            after[row] = value
    return data


def prepare_assign(on, data, ids, slices):
    """Check the inputs of scatter_assign on any device. Returns ids."""
    ids = on.checked_ids(ids, len(check_rows(data, "data")))
    check_target("scatter_assign", data, ids.shape, [("slices", slices)])
    return ids


def check_elements(name, shape, ids_shape, axis):
    """The axis, from 0, along which ids select elements: on other axes they are not longer than the data."""
    axis = check_axis(len(shape), axis)
    limits = (*shape[:axis], math.inf, *shape[axis + 1 :])
    if len(ids_shape) != len(shape) or any(map(operator.gt, ids_shape, limits)):
        raise ShapeMismatchError(
            f"{name}: ids of shape {tuple(ids_shape)} do not fit data of shape {tuple(shape)}; they have its axes, "
            f"only axis {axis} may be longer"
        )
    return axis


def prepare_scatter(on, data, ids, updates, axis):
    """Check the inputs of scatter on any device. Returns the type, ids, and the axis from 0."""
    dtype = check_values(data.dtype, "scatter")
    axis = check_elements("scatter", data.shape, ids.shape, axis)
    if native(updates.dtype) != native(data.dtype):
        raise mixed_types("scatter: updates", updates.dtype, "data", data.dtype)
    if tuple(updates.shape) != tuple(ids.shape):
        raise ShapeMismatchError(f"scatter: updates have shape {tuple(updates.shape)}, ids {tuple(ids.shape)}")
    return dtype, on.checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis)), axis


def prepare_scatter_grad(on, data, ids, grad, axis):
    """Check the inputs of the gradient; ``grad`` must have the shape of the data."""
    dtype = check_values(data.dtype, "the gradient", floating=True)
    axis = check_elements("scatter_grad", data.shape, ids.shape, axis)
    ids = on.checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    check_gradient(grad, data.shape)
    return dtype, ids, axis


def _places(ids, axis):
    """Place in ids, and place in the data, of each update."""
    for place in np.ndindex(ids.shape):
        yield place, (*place[:axis], ids[place], *place[axis + 1 :])


@op(like="data", types=COMPUTED)
def scatter(data: Dense, ids: Dense, updates: Dense, /, *, axis: int = 1) -> Dense:
    """Return the data with single elements replaced: ``out[i, ids[i, j], k] = updates[i, j, k]`` on axis 1.

    Caffe2's Scatter, ScatterElements of ONNX. The last update for an element stays.

    Parameters
    ----------
    data : array
    ids : array of int32 or int64
        With the axes of the data, only ``axis`` longer.
    updates : array like ids
        Has the type of the data.
    axis : int
        Negative ones count from the last axis.

    Raises
    ------
    RowIndexError
        An id is negative or not below the entries of the axis; nothing is written.

    Examples
    --------
    >>> scatter(np.zeros((2, 3)), [[1], [2]], np.array([[5.], [7.]]))
    array([[0., 5., 0.],
           [0., 0., 7.]])
    """
    dtype, ids, axis = prepare_scatter(plain, data, ids, updates, axis)
    out = data.astype(dtype)
    for place, target in _places(ids, axis):
        out[target] = updates[place]
    return out


@scatter.gradient
def _(call, grad):
    by_data, by_updates = scatter_grad(*call.inputs[:2], grad, axis=call.attrs["axis"])
    return by_data, None, by_updates


@op(types=FLOATING)
def scatter_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis: int = 1) -> tuple[Dense, Dense]:
    """Return the gradients of ``scatter`` by its data and its updates: an update that did not stay gets none.

    >>> scatter_grad(np.zeros((1, 3)), [[1, 1]], np.array([[1., 2., 3.]]))
    (array([[1., 0., 3.]]), array([[0., 2.]]))
    """
    dtype, ids, axis = prepare_scatter_grad(plain, data, ids, grad, axis)
    by_data = grad.astype(dtype)
    last = {target: place for place, target in _places(ids, axis)}
    by_updates = np.zeros(ids.shape, dtype)
    for target, place in last.items():
        by_updates[place] = by_data[target]
        by_data[target] = 0
    return by_data, by_updates


@scatter_grad.infer_rule
def _(data, ids, grad, *, axis=1):
    return data, data.but(dims=ids.dims)


scatter_assign.example(lambda dtype: [((np.ones((3, 4), dtype), np.array([2, 0]), np.ones((2, 4), dtype)), {})])
scatter.example(lambda dtype: [((np.ones((3, 4), dtype), np.array([[2, 0]]), np.ones((1, 2), dtype)), {})])
