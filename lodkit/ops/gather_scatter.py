"""Gather rows, or entries along another axis, by index (Caffe2's Gather and BatchGather)."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_rows, check_values
from ..base.errors import LoDLevelError, ShapeMismatchError, bad_along
from ..lod import LoDTensor, SelectedRows, values_of
from ..registry import Dense, VarType, keeps_bfloat16, op, takes_bfloat16
from .embedding import lookup_table_grad
from .shared import plain

DOCS_PAGE = "look-up"
SEARCH_WORDS = {
    "gather": "index_select, take, take rows, fancy indexing",
    "batch_gather": "take_along_axis, gather dim=1",
}


@op(types=MOVED)
def gather(
    data: Dense,
    ids: Dense | LoDTensor,
    /,
    *,
    axis: int = 0,
    wrap: bool = False,
    match_outer: bool = False,
    is_sparse: bool = True,
) -> Dense | LoDTensor:
    """Return the entries of ``data`` at ``ids`` along an axis: on axis 0 one row per id, in the structure of ids.

    The operator corresponds to Caffe2's Gather. If the axis is empty, every id raises; Caffe2 returns ``data`` for any
    ids.

    Parameters
    ----------
    data : array
        The type may also be uint8 (packed rows), bool (masks), int8 or int16.
    ids : array of int32 or int64 of any shape, LoDTensor (on axis 0), or list
    axis : int
        A negative axis counts from the last axis.
    wrap : bool
        If True, negative ids count from the end; otherwise negative ids raise.
    match_outer : bool
        If True, ids start with the axes of ``data`` that come before ``axis``, and each entry on these axes has its own
        ids.
    is_sparse : bool
        If True, the gradient of ``data`` on axis 0 is SelectedRows; otherwise a dense array.

    Returns
    -------
    array of shape (*data.shape[:axis], *ids.shape, *data.shape[axis + 1:])
        With ``match_outer``, ``ids.shape[axis:]`` takes the place of ``ids.shape``.

    Raises
    ------
    RowIndexError
        An id is outside the axis; the message gives position, id and bound.
    ShapeMismatchError
        ``data`` has no such axis, or with ``match_outer`` the ids do not start with the axes of ``data``.
    DTypeError
        Ids are not integers.

    Examples
    --------
    >>> gather(np.array([10, 20, 30]), [[2, 0]])
    array([[30, 10]])
    >>> gather(np.array([[10, 20, 30], [40, 50, 60]]), [-1, 0], axis=1, wrap=True)
    array([[30, 10],
           [60, 40]])
    """
    data, dtype, axis, numbers = prepare_gather(plain, data, ids, axis, wrap, match_outer)
    if not match_outer:
        return wrap_like_ids(np.take(data, numbers, axis).astype(dtype), ids)
    out = np.zeros(gathered_shape(data.shape, numbers.shape, axis, True), dtype)
    for place in np.ndindex(data.shape[:axis]):
        out[place] = data[place][numbers[place]]
    return wrap_like_ids(out, ids)


def prepare_gather(on, data, ids, axis, wrap, match_outer, what="gather"):
    """Check the inputs of a gather on any device. Returns data, dtype, the axis from 0, and ids from 0."""
    data = check_rows(data, "data")
    axis = check_axis(data.ndim, axis)
    if axis and isinstance(ids, LoDTensor) and ids.lod_level:
        raise LoDLevelError(f"gather along axis {axis} gives no row an id, so no structure; pass ids.values")
    numbers = on.wrap_ids(values_of(ids), data.shape[axis], wrap)
    check_outer(data.shape, numbers.shape, axis, match_outer)
    dtype = check_values(data.dtype, what, bfloat16=True)
    # The kernel of a gather checks its ids as it reads them.
    check = on.ids_in_range if what == "gather" else on.checked_ids
    return data, dtype, axis, check(numbers, data.shape[axis], error=bad_along(data.shape[axis], axis, wrap))


def wrap_and_check(on, ids, height, wrap):
    """Count ids from the start where they may count from the end; an error names the ids that were given."""
    return on.checked_ids(on.wrap_ids(ids, height, True), height, error=bad_along(height, 0, True)) if wrap else ids


def prepare_gather_grad(on, data, ids, grad, axis, wrap, match_outer):
    """Check the inputs of the gradient along an axis, which is returned last."""
    data, dtype, axis, ids = prepare_gather(on, data, ids, axis, wrap, match_outer, "the gradient")
    check_values(data.dtype, "the gradient", floating=True, bfloat16=True)
    return (
        data,
        dtype,
        axis,
        ids,
        check_gradient(grad, gathered_shape(data.shape, ids.shape, axis, match_outer), bfloat16=True),
    )


def check_axis(ndim, axis):
    """``axis`` counted from the first one."""
    if not -ndim <= axis < ndim:
        raise ShapeMismatchError(f"axis = {axis} is outside [{-ndim}, {ndim}), the data has {ndim} dimensions")
    return axis % ndim


def wrap_like_ids(result, ids):
    """The result, in the structure of the ids where they have one."""
    return ids.with_values(result) if isinstance(ids, LoDTensor) and ids.lod_level else result


def check_outer(shape, ids_shape, axis, match_outer):
    if match_outer and tuple(ids_shape[:axis]) != tuple(shape[:axis]):
        raise ShapeMismatchError(
            f"match_outer: ids of shape {tuple(ids_shape)} do not start with the {axis} axes of data, "
            f"{tuple(shape[:axis])}; give each entry there its own ids"
        )


def gathered_shape(shape, ids_shape, axis, match_outer):
    """The shape of what is gathered along an axis."""
    return (*shape[:axis], *ids_shape[axis if match_outer else 0 :], *shape[axis + 1 :])


def as_rows(shape, axis):
    """The shape of the same numbers with a row for each entry on the axes up to ``axis``."""
    return (math.prod(shape[: axis + 1]), *shape[axis + 1 :])


@gather.infer_rule
def _(data, ids, *, axis=0, wrap=False, match_outer=False, is_sparse=True):
    dims = gathered_shape(data.dims, ids.dims, check_axis(len(data.dims), axis), match_outer)
    return data.but(type=VarType.LOD_TENSOR, dims=dims, lod_level=ids.lod_level, sequences=ids.sequences)


@gather.gradient
def _(call, grad):
    data, ids = call.inputs
    attrs = {k: call.attrs[k] for k in ("wrap", "match_outer")}
    if check_axis(data.ndim, call.attrs["axis"]):
        return batch_gather_grad(data, values_of(ids), grad, axis=call.attrs["axis"], **attrs)
    return gather_grad(data, values_of(ids), grad, wrap=call.attrs["wrap"], is_sparse=call.attrs["is_sparse"])


@op(types=FLOATING)
def gather_grad(
    data: Dense, ids: Dense, grad: Dense, /, *, wrap: bool = False, is_sparse: bool = True
) -> Dense | SelectedRows:
    """Return the gradient of ``gather`` on axis 0: SelectedRows with a row for every id, duplicates kept; or dense.

    The rows of ids that count from the end are counted from the start. The value of SelectedRows shares the memory of
    ``grad`` where it can.

    >>> gather_grad(np.zeros((3, 1)), np.array([2, -1]), np.array([[1.], [5.]]), wrap=True)
    SelectedRows(rows=[2, 2], value=[[1.], [5.]], height=3)
    """
    ids = wrap_and_check(plain, ids, len(data), wrap)
    return lookup_table_grad.definition(data, ids, grad, is_sparse=is_sparse)


@gather_grad.infer_rule
def _(data, ids, grad, *, wrap=False, is_sparse=True):
    return lookup_table_grad.infer_function(data, ids, grad, is_sparse=is_sparse)


@op(types=MOVED)
def batch_gather(data: Dense, ids: Dense, /, *, match_outer: bool = False) -> Dense:
    """Return the entries of every row of ``data`` at ``ids``: ``gather`` on axis 1.

    The operator corresponds to Caffe2's BatchGather.

    Raises
    ------
    RowIndexError
        An id is negative or not below the number of columns.

    Examples
    --------
    >>> batch_gather(np.array([[10, 20, 30], [40, 50, 60]]), [2, 0, 2])
    array([[30, 10, 30],
           [60, 40, 60]])
    """
    return gather.definition(data, ids, axis=1, match_outer=match_outer)


@batch_gather.infer_rule
def _(data, ids, *, match_outer=False):
    return gather.infer_function(data, ids, axis=1, match_outer=match_outer)


@batch_gather.gradient
def _(call, grad):
    return batch_gather_grad(*call.inputs, grad, match_outer=call.attrs["match_outer"])


@op(like="data", types=FLOATING)
def batch_gather_grad(
    data: Dense, ids: Dense, grad: Dense, /, *, axis: int = 1, wrap: bool = False, match_outer: bool = False
) -> Dense:
    """Return the gradient of ``gather`` along an axis, like ``data``: contributions to one entry add up.

    >>> batch_gather_grad(np.zeros((1, 3)), [2, 0, 2], np.array([[1., 2., 4.]]))
    array([[2., 0., 5.]])
    """
    data, dtype, axis, ids, grad = prepare_gather_grad(plain, data, ids, grad, axis, wrap, match_outer)
    result = np.zeros(data.shape, np.float64)
    for place in np.ndindex(data.shape[:axis]):
        np.add.at(result[place], ids[place] if match_outer else ids, grad[place])
    return result.astype(dtype)


gather.example(lambda dtype: [((np.ones((3, d), dtype), np.array([0, 2])), {}) for d in (4, 64)])
batch_gather.example(lambda dtype: [((np.ones((2, 3, 4), dtype), np.array([0, 2])), {})])


takes_bfloat16(gather, gather_grad, batch_gather, batch_gather_grad)
keeps_bfloat16(gather_grad, batch_gather_grad)
