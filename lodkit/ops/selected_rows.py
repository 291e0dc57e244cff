"""SelectedRows: merge duplicates, add up with SelectedRows and dense, make dense."""

from __future__ import annotations

import builtins
import itertools
from typing import Literal

import numpy as np

from ..arrays import COMPUTED, FLOATING, MOVED, check_values, mixed_types, native, total_dtype, writable
from ..base.errors import RowIndexError, ShapeMismatchError
from ..lod import LoDTensor, SelectedRows, values_of
from ..registry import OPS, Dense, VarDesc, VarType, op, takes_bfloat16
from .shared import plain
from .shared.tables import check_padding

DOCS_PAGE = "selected-rows"
SEARCH_WORDS = {
    "add_selected_rows": "scatter_add of a gradient, index_add",
    "gather_selected_rows": "rows of a sparse gradient",
    "merge_selected_rows": "coalesce, sum duplicates, deduplicate gradients",
    "selected_rows_to_dense": "to_dense, densify",
    "sum": "add, add_n, accumulate gradients",
    "shape": "size, dimensions",
}


def check_alike(xs):
    """Refuse arrays or SelectedRows of different shapes or dtypes. Returns the dtype."""
    shape, dtype = xs[0].shape, native(xs[0].dtype)
    for i, x in enumerate(xs[1:], 1):
        if x.shape != shape:
            raise ShapeMismatchError(f"sum: input {i} has shape {x.shape}, input 0 {shape}")
        if native(x.dtype) != dtype:
            raise mixed_types(f"sum: input {i}", x.dtype, "input 0", dtype)
    return check_values(dtype, "sum", bfloat16=True)


def added(rows, value, height):
    """Add rows up to a dense array of ``height`` rows, in double precision."""
    dense = np.zeros((height, *value.shape[1:]), total_dtype(value.dtype))
    np.add.at(dense, rows, value.astype(dense.dtype))
    return dense


@op(like="x", types=COMPUTED)
def merge_selected_rows(x: SelectedRows, /) -> SelectedRows:
    """Return the same gradient with sorted rows, each once: duplicates are added up.

    MergeAdd of Paddle, ``coalesce`` of torch. Sums of int32 wrap around, as NumPy's do.

    >>> merge_selected_rows(SelectedRows([5, 1, 5], [[1.], [2.], [3.]], 9))
    SelectedRows(rows=[1, 5], value=[[2.], [4.]], height=9)
    """
    check_values(x.dtype, "merge_selected_rows", bfloat16=True)
    rows, inverse = np.unique(x._rows, return_inverse=True)
    value = added(inverse, x.value, len(rows)).astype(x.dtype)
    return SelectedRows._wrap(rows, value, x.height, merged=True)


def value_gradient(grad):
    """The gradient by the value of SelectedRows, which is an array like it."""
    return grad.value if isinstance(grad, SelectedRows) else grad


@merge_selected_rows.gradient(reads_outputs=True)
def _(call, grad):
    x, merged = call.inputs[0], call.outputs[0]
    return gather_selected_rows(merged._with_value(value_gradient(grad)), x._rows)


def prepare_rows(on, x, ids, padding_idx=None):
    """Check the inputs of gather_selected_rows on any device. Returns the ids."""
    check_values(x.value.dtype, "gather_selected_rows", bfloat16=True)
    check_padding(padding_idx, x.height)
    return on.checked_ids(ids, x.height)


def refuse_absent(ids, at, padding_idx):
    """Refuse ids of rows that are not listed, by these ids and their positions; that of padding needs none."""
    for i, row in zip(at.tolist(), ids.tolist(), strict=True):
        if row != padding_idx:
            raise RowIndexError(f'ids[{i}] = {row} is no row of x; add the row, or read zeros by absent="zeros"')


@op(rowwise=("ids",), types=COMPUTED)
def gather_selected_rows(
    x: SelectedRows, ids: Dense, /, *, absent: Literal["zeros", "raise"] = "zeros", padding_idx: int | None = None
) -> Dense:
    """Return ``x.to_dense()[ids]`` without the dense array: duplicates summed, zeros for rows that are not listed.

    Parameters
    ----------
    x : SelectedRows
    ids : array of int32 or int64 of any shape, LoDTensor, or list
    absent : {"zeros", "raise"}
        Value of rows that are not listed. A table that is SelectedRows, as Paddle's, has a row for every id.
    padding_idx : int, optional
        This row reads as zeros, listed or not, and gets no gradient.

    Raises
    ------
    RowIndexError
        An id is negative or not below the height, or its row is not listed and ``absent`` is "raise".

    Examples
    --------
    >>> gather_selected_rows(SelectedRows([5, 1, 5], [[1.], [2.], [3.]], 9), [5, 0])
    array([[4.],
           [0.]])
    """
    ids = prepare_rows(plain, x, ids, padding_idx)
    if absent == "raise":
        at = np.flatnonzero(~np.isin(ids, x._rows))
        refuse_absent(ids.reshape(-1)[at], at, padding_idx)
    dense = added(x._rows, x.value, x.height)
    if padding_idx is not None:
        dense[padding_idx] = 0
    return dense[ids].astype(native(x.dtype))


@gather_selected_rows.infer_rule
def _(x, ids, *, absent="zeros", padding_idx=None):
    return x.but(type=VarType.LOD_TENSOR, dims=(*ids.dims, *x.dims[1:]), lod_level=ids.lod_level)


@gather_selected_rows.gradient
def _(call, grad):
    x, ids = call.inputs
    ids = values_of(ids)
    rows = SelectedRows(ids.reshape(-1), values_of(grad).reshape(-1, *x.shape[1:]), x.height)
    return gather_selected_rows(rows, x._rows, padding_idx=call.attrs["padding_idx"]), None


@op(rowwise=True, types=COMPUTED)
def sum(*xs: Dense | SelectedRows) -> Dense | SelectedRows:
    """Add arrays and SelectedRows up: SelectedRows if all are, dense otherwise.

    SelectedRows with SelectedRows appends (nothing is merged). The operator corresponds to Paddle's sum.

    >>> grad = SelectedRows([1, 1], [[1.], [2.]], 3)
    >>> sum(grad, np.zeros((3, 1))).ravel()
    array([0., 3., 0.])
    """
    dtype = check_alike(xs)
    if all(isinstance(x, SelectedRows) for x in xs):
        rows, value = np.concatenate([x._rows for x in xs]), np.concatenate([x.value for x in xs])
        return SelectedRows._wrap(rows, value, xs[0].height)
    dense = [added(x._rows, x.value, x.height) if isinstance(x, SelectedRows) else x for x in xs]
    return builtins.sum(d.astype(total_dtype(dtype)) for d in dense).astype(dtype)


@sum.infer_rule
def _(*xs):
    sparse = all(x.type is VarType.SELECTED_ROWS for x in xs)
    return xs[0].but(type=VarType.SELECTED_ROWS if sparse else VarType.LOD_TENSOR)


@sum.gradient(reads_outputs=True)
def _(call, grad):
    if isinstance(call.outputs[0], SelectedRows):
        ends = itertools.accumulate(len(x._rows) for x in call.inputs)
        grad = value_gradient(grad)
        return tuple(grad[end - len(x._rows) : end] for x, end in zip(call.inputs, ends, strict=True))
    return tuple(_rows_of(x, grad) if isinstance(x, SelectedRows) else grad for x in call.inputs)


@op(types=COMPUTED)
def selected_rows_to_dense(x: SelectedRows, /) -> Dense:
    """Return the dense array of shape ``(height, *item)``; duplicate rows are added up.

    >>> selected_rows_to_dense(SelectedRows([2, 2], [1., 2.], 3))
    array([0., 0., 3.])
    """
    check_values(x.dtype, "selected_rows_to_dense", bfloat16=True)
    return added(x._rows, x.value, x.height).astype(x.dtype)


@selected_rows_to_dense.infer_rule
def _(x):
    return x.but(type=VarType.LOD_TENSOR)


@selected_rows_to_dense.gradient
def _(call, grad):
    return _rows_of(call.inputs[0], grad)


def _rows_of(x, grad):
    """The gradient by the value of SelectedRows, from that by its dense array."""
    if isinstance(grad, SelectedRows):
        return gather_selected_rows(grad, x._rows)
    return OPS["lookup_table"](grad, x._rows)


@op(types=MOVED)
def get_tensor_from_selected_rows(x: SelectedRows, /) -> Dense:
    """Return the value of SelectedRows as a plain array, one row per entry (no copy).

    >>> get_tensor_from_selected_rows(SelectedRows([7, 2], [[1.], [2.]], 9)).ravel()
    array([1., 2.])
    """
    return x.value


@get_tensor_from_selected_rows.infer_rule
def _(x):
    return x.but(type=VarType.LOD_TENSOR, dims=(-1, *x.dims[1:]))


@get_tensor_from_selected_rows.gradient
def _(call, grad):
    return grad


@op(types=MOVED)
def shape(x: Dense | LoDTensor | SelectedRows, /) -> Dense:
    """Return the shape of an array, or of the value of SelectedRows, as int64, on the CPU.

    The operator corresponds to Paddle's shape.

    >>> shape(SelectedRows([7, 2], [[1.], [2.]], 9))
    array([2, 1])
    """
    return shape_of(x)


def shape_of(x):
    """The shape of the array of a value, as a vector."""
    return np.array(getattr(x, "value", values_of(x)).shape, np.int64)


@shape.infer_rule
def _(x):
    return VarDesc("", VarType.LOD_TENSOR, np.dtype(np.int64), (len(x.dims),))


@op(updates=("dense",), types=FLOATING)
def add_selected_rows(dense: Dense, x: SelectedRows, /) -> Dense:
    """Add SelectedRows to a dense array of floating numbers, in place, and return it; only the listed rows change.

    >>> add_selected_rows(np.zeros((3, 1)), SelectedRows([1, 1], [[1.], [2.]], 3)).ravel()
    array([0., 3., 0.])
    """
    check_sum(dense, x)
    dense[:] = (dense + added(x._rows, x.value, x.height)).astype(dense.dtype)
    return dense


def check_sum(dense, x):
    """Refuse an array that SelectedRows cannot be added to in place."""
    check_alike((writable(dense, "dense"), x))
    check_values(dense.dtype, "add_selected_rows", bfloat16=True)


for _operator in (merge_selected_rows, sum, selected_rows_to_dense, get_tensor_from_selected_rows, shape):
    _operator.example(lambda dtype: [((SelectedRows([2, 0, 2], np.ones((3, 4), dtype), 3),), {})])
gather_selected_rows.example(
    lambda dtype: [((SelectedRows([2, 0, 2], np.ones((3, 4), dtype), 3), np.array([0, 1])), {})]
)
add_selected_rows.example(
    lambda dtype: (
        [((np.ones((3, 4), dtype), SelectedRows([2, 0, 2], np.ones((3, 4), dtype), 3)), {})]
        if np.dtype(dtype).kind == "f"
        else []
    )
)

takes_bfloat16(merge_selected_rows, sum, selected_rows_to_dense, get_tensor_from_selected_rows, shape)
takes_bfloat16(gather_selected_rows, add_selected_rows)
