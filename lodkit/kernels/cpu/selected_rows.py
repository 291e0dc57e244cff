"""CPU kernels of lodkit/ops/selected_rows.py: sort, then reduce each run of equal rows."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import matrix, native, upcast
from ...jit import njit
from ...lod.selected_rows import SelectedRows
from ...ops import selected_rows as ops
from ...registry import Dense
from .primitives.merge import dense_rows, merge_rows


@njit
def _add_row(rows, value, out):
    """Add rows that are listed once each."""
    for u in range(len(rows)):
        for d in range(out.shape[1]):
            out[rows[u], d] += value[u, d]


@ops.merge_selected_rows.kernel("cpu")
def merge(x: SelectedRows, /):
    return merge_rows(x)


@ops.selected_rows_to_dense.kernel("cpu")
def dense(x: SelectedRows, /):
    return dense_rows(x)


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
    sparse = merge_rows(add_selected(*(x for x in xs if isinstance(x, SelectedRows))))
    out = add_dense(*(x for x in xs if not isinstance(x, SelectedRows)))
    _add_row(sparse.rows, matrix(sparse.value), matrix(out))
    return out


def _widened(x):
    """float16 as float32: halves are rounded once, at the end."""
    return SelectedRows._wrap(x.rows, upcast(x.value), x.height) if isinstance(x, SelectedRows) else upcast(x)
