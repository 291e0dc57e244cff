"""SelectedRows: merge duplicates, add up with SelectedRows and dense, make dense."""

from __future__ import annotations

import builtins

import numpy as np

from ..arrays import check_values, native, total_dtype
from ..errors import DTypeError, ShapeMismatchError
from ..lod import SelectedRows
from ..registry import Dense, VarType, op


def check_alike(xs):
    """Refuse arrays or SelectedRows of different shapes or dtypes. Returns the dtype."""
    shape, dtype = xs[0].shape, native(xs[0].dtype)
    for i, x in enumerate(xs[1:], 1):
        if x.shape != shape:
            raise ShapeMismatchError(f"sum: input {i} has shape {x.shape}, input 0 {shape}")
        if native(x.dtype) != dtype:
            raise DTypeError(f"sum: input {i} is {x.dtype}, input 0 {xs[0].dtype}; convert with .astype(...)")
    return check_values(dtype, "sum")


def added(rows, value, height):
    """Add rows up to a dense array of ``height`` rows, in double precision."""
    dense = np.zeros((height, *value.shape[1:]), total_dtype(value.dtype))
    np.add.at(dense, rows, value.astype(dense.dtype))
    return dense


@op(like="x")
def merge_selected_rows(x: SelectedRows, /) -> SelectedRows:
    """Return the same gradient with sorted rows, each once: duplicates are added up.

    MergeAdd of Paddle, ``coalesce`` of torch. Sums of int32 wrap around, as NumPy's do.

    >>> merge_selected_rows(SelectedRows([5, 1, 5], [[1.], [2.], [3.]], 9))
    SelectedRows(rows=[1, 5], value=[[2.], [4.]], height=9)
    """
    check_values(x.dtype, "merge_selected_rows")
    rows, inverse = np.unique(x.rows, return_inverse=True)
    value = added(inverse, x.value, len(rows)).astype(x.dtype)
    return SelectedRows._wrap(rows, value, x.height, merged=True)


@op(rowwise=True)
def sum(*xs: Dense | SelectedRows) -> Dense | SelectedRows:
    """Add arrays and SelectedRows up: SelectedRows if all are, dense otherwise.

    SelectedRows with SelectedRows appends (nothing is merged). Paddle's sum.

    >>> grad = SelectedRows([1, 1], [[1.], [2.]], 3)
    >>> sum(grad, np.zeros((3, 1))).ravel()
    array([0., 3., 0.])
    """
    dtype = check_alike(xs)
    if all(isinstance(x, SelectedRows) for x in xs):
        rows, value = np.concatenate([x.rows for x in xs]), np.concatenate([x.value for x in xs])
        return SelectedRows._wrap(rows, value, xs[0].height)
    dense = [added(x.rows, x.value, x.height) if isinstance(x, SelectedRows) else x for x in xs]
    return builtins.sum(d.astype(total_dtype(dtype)) for d in dense).astype(dtype)


@sum.infer_rule
def _(*xs):
    sparse = all(x.type is VarType.SELECTED_ROWS for x in xs)
    return xs[0].but(type=VarType.SELECTED_ROWS if sparse else VarType.LOD_TENSOR)


@sum.gradient
def _(call, grad):
    return tuple(grad for _ in call.inputs)


@op
def selected_rows_to_dense(x: SelectedRows, /) -> Dense:
    """Return the dense array of shape ``(height, *item)``; duplicate rows are added up.

    >>> selected_rows_to_dense(SelectedRows([2, 2], [1., 2.], 3))
    array([0., 0., 3.])
    """
    check_values(x.dtype, "selected_rows_to_dense")
    return added(x.rows, x.value, x.height).astype(x.dtype)


@selected_rows_to_dense.infer_rule
def _(x):
    return x.but(type=VarType.LOD_TENSOR)


@op
def get_tensor_from_selected_rows(x: SelectedRows, /) -> Dense:
    """Return the value of SelectedRows as a plain array, one row per entry (no copy).

    >>> get_tensor_from_selected_rows(SelectedRows([7, 2], [[1.], [2.]], 9)).ravel()
    array([1., 2.])
    """
    return x.value


@get_tensor_from_selected_rows.infer_rule
def _(x):
    return x.but(type=VarType.LOD_TENSOR, dims=(-1, *x.dims[1:]))


for _operator in (merge_selected_rows, sum, selected_rows_to_dense, get_tensor_from_selected_rows):
    _operator.example(lambda dtype: [((SelectedRows([2, 0, 2], np.ones((3, 4), dtype), 3),), {})])
