"""SelectedRows merged, made dense and added up, and gradients of tables."""

from __future__ import annotations

import numpy as np

from .... import arrays
from ....arrays import check_values, matrix, native, to_dtype
from ....jit import njit
from ....lod import SelectedRows
from .gather import put_once
from .reduce import reduce_into
from .sort import sort_rows


@njit
def _add_rows(unique, value, out):
    for u in range(len(unique)):
        for d in range(out.shape[1]):
            out[unique[u], d] += value[u, d]


def add_rows(rows, value, out):
    """``out[rows[i]] += value[i]``, for rows that are listed once."""
    _add_rows(rows, matrix(value), matrix(out))


def single_runs(rows):
    """Starts of runs of one row each."""
    return np.arange(len(rows) + 1)


def runs_of(grad):
    """Order of the rows of a gradient, start of each run of equal ones, and the row of each run: found once."""
    found = grad._runs.get("cpu")
    if found is None:
        if grad.is_merged:
            starts = single_runs(grad._rows)
            found = starts[:-1], starts, grad._rows
        else:
            found = sort_rows(grad._rows, grad.height)
        grad._runs["cpu"] = found
    return found


def merge_rows(x):
    """SelectedRows with sorted rows, each once: sort, then reduce each run of equal rows."""
    check_values(x.dtype, "merge_selected_rows", bfloat16=True)
    if x.is_merged:
        return x
    order, starts, unique = runs_of(x)
    dtype = native(x.dtype)
    value = reduce_into(x.value, order, None, None, starts, "sum", 0)
    return SelectedRows._wrap(unique, to_dtype(value, dtype), x.height, merged=True)


def dense_rows(x):
    """SelectedRows as an array."""
    merged = merge_rows(x)
    # Fresh zeroed pages cost nothing until they are touched, so np.zeros beats filling huge pages.
    dense = np.zeros(x.shape, merged.value.dtype)
    put_once.compiled(merged._rows, matrix(merged.value), matrix(dense))
    return dense


def total(xs, dtype):
    """The sum of arrays, computed in ``dtype``: a new array."""
    out = arrays.output(xs[0].shape, dtype)
    out[...] = to_dtype(xs[0], out.dtype)
    for x in xs[1:]:
        out += to_dtype(x, out.dtype)
    return out


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Gradient of a table, from a row per id: SelectedRows or dense, without the padding row."""
    flat = ids
    if ids.ndim != 1:
        flat, rows = ids.reshape(-1), rows.reshape(ids.size, *table.shape[1:])
    # Skipping the conversion takes 150 ns less.
    if rows.dtype is not table.dtype:
        rows = to_dtype(rows, native(table.dtype))
    if padding_idx is not None:
        keep = flat != padding_idx
        flat, rows = flat[keep], rows[keep]
    sparse = SelectedRows._wrap(flat, rows, len(table))
    return sparse if is_sparse else dense_rows(sparse)


def rows_grad(shape, rows, grad, dtype):
    """The dense gradient of ``data[rows]``, where ``data`` has this shape."""
    value = to_dtype(grad.reshape(len(rows), *shape[1:]), native(dtype))
    return dense_rows(SelectedRows._wrap(rows, value, shape[0]))
