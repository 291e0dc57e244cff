"""CPU kernels of lodkit/ops/selected_rows.py: sort, then reduce each run of equal rows."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_values, matrix, native, wide
from ...jit import njit
from ...lod.selected_rows import SelectedRows
from ...ops import selected_rows as ops
from ...registry import Dense
from .primitives.reduce import reduce_rows
from .primitives.sort import sort_rows


@njit
def _put_rows(unique, value, out):
    for u in range(len(unique)):
        for d in range(out.shape[1]):
            out[unique[u], d] = value[u, d]


@njit
def _add_row(rows, value, out):
    """Add rows that are listed once each."""
    for u in range(len(rows)):
        for d in range(out.shape[1]):
            out[rows[u], d] += value[u, d]


@ops.merge_selected_rows.kernel("cpu")
def merge(x: SelectedRows, /):
    check_values(x.dtype, "merge_selected_rows")
    if x.is_merged:
        return x
    order, starts, unique = sort_rows(x.rows, x.height)
    dtype = native(x.dtype)
    value = arrays.output((len(unique), *x.value.shape[1:]), np.dtype(np.int64) if dtype.kind == "i" else dtype)
    reduce_rows("sum", matrix(x.value), order, None, None, starts, matrix(value).dtype.type(0), matrix(value))
    return SelectedRows._wrap(unique, value.astype(dtype, copy=False), x.height, merged=True)


@ops.selected_rows_to_dense.kernel("cpu")
def dense_rows(x: SelectedRows, /):
    merged = merge(x)
    # Fresh zeroed pages cost nothing until they are touched, so np.zeros beats filling huge pages.
    dense = np.zeros(x.shape, merged.value.dtype)
    _put_rows(merged.rows, matrix(merged.value), matrix(dense))
    return dense


@ops.get_tensor_from_selected_rows.kernel("cpu")
def get_tensor(x: SelectedRows, /):
    return x.value


@ops.sum.kernel("cpu")
def add_selected(*xs: SelectedRows):
    ops.check_alike(xs)
    return SelectedRows._wrap(np.concatenate([x.rows for x in xs]), np.concatenate([x.value for x in xs]), xs[0].height)


@ops.sum.kernel("cpu")
def add_dense(*xs: Dense):
    ops.check_alike(xs)
    dtype = native(xs[0].dtype)
    if dtype == np.float16:
        return np.sum([x.astype(np.float32) for x in xs], axis=0, dtype=np.float32).astype(dtype)
    out = arrays.output(xs[0].shape, dtype)
    out[...] = xs[0]
    for x in xs[1:]:
        out += x
    return out


@ops.sum.kernel("cpu")
def add_mixed(*xs: Dense | SelectedRows):
    ops.check_alike(xs)
    if native(xs[0].dtype) == np.float16:
        with np.errstate(over="ignore"):
            return add_mixed(*map(_widened, xs)).astype(np.float16)
    sparse = merge(add_selected(*(x for x in xs if isinstance(x, SelectedRows))))
    out = add_dense(*(x for x in xs if not isinstance(x, SelectedRows)))
    _add_row(sparse.rows, matrix(sparse.value), matrix(out))
    return out


def _widened(x):
    """float16 as float32: halves are rounded once, at the end."""
    return SelectedRows._wrap(x.rows, wide(x.value), x.height) if isinstance(x, SelectedRows) else wide(x)


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Rows that flow to ids as a table gradient, without the padding row."""
    if padding_idx is not None:
        keep = ids != padding_idx
        ids, rows = ids[keep], rows[keep]
    sparse = SelectedRows._wrap(ids, rows, len(table))
    return sparse if is_sparse else dense_rows(sparse)
