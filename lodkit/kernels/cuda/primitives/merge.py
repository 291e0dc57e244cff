"""SelectedRows merged, made dense and added up, and gradients of tables."""

from __future__ import annotations

import numpy as np

from ....arrays import check_values
from ....arrays.cuda import add_to, convert, copied, fill, iota, view
from ....lod import SelectedRows
from .gather import put_rows, rows_without
from .offsets import Found, Offsets, cut, settings
from .runs import first_rows
from .small_group_by import runs_of_sorted, sort_below, write_table
from .sorted_runs import sums_of_runs


def _kept(grad, what, make):
    """What ``make()`` gives for the rows of a gradient, made once for a stream."""
    rows = view(grad._rows)
    key = what, rows.library, rows.device, rows.library.queue(rows.device), settings.tile_rows
    found = grad._runs.get(key)
    if found is None:
        found = grad._runs[key] = make(rows)
    return found


def sorted_of(grad):
    """The sorted rows of a gradient, and the order that sorts them."""
    return _kept(grad, "sorted", lambda rows: sort_below(rows, grad.height))


def runs_of(grad):
    """Runs of equal rows of a gradient: distinct rows, Offsets, order of its rows. Synchronises if it is not merged."""

    def find(rows):
        if grad.is_merged:
            starts = iota(rows, len(rows) + 1)
            return rows, Offsets(starts, len(rows)), starts.part(0, len(rows))
        order, offsets, unique = _table(*sorted_of(grad), grad.height)
        return unique, offsets, order

    return _kept(grad, "runs", find)


def sort_rows(rows, height):
    """Sort row numbers, stably: their order, Offsets of the runs of equal ones, the row of each. Synchronises."""
    return _table(*sort_below(rows, height), height)


def _table(sorted_rows, order, height):
    found = runs_of_sorted(sorted_rows, order, height)
    return found.order, cut(found.offsets, Found(-1, found.longest, 0, order.size)), found.rows


def group_rows(rows, height):
    """``sort_rows`` for ``update_runs``, which needs no table of the runs: sorted rows, and None in its place."""
    sorted_rows, order = sort_below(rows, height)
    return order, None, sorted_rows


def merge_rows(x):
    """SelectedRows, of Views, with sorted rows, each once: sort, then reduce each run of equal rows."""
    value = view(x.value)
    check_values(value.dtype, "merge_selected_rows")
    if x.is_merged:
        return SelectedRows._wrap(view(x._rows), value, x.height, merged=True)
    dtype = np.int64 if value.dtype.kind == "i" else value.dtype
    (ids, order), n = sorted_of(x), len(value)
    rows, offsets = write_table(ids, x.height)
    merged = value.like(value.shape, dtype)
    found = sums_of_runs(rows, offsets, order, ids, value, x.height, merged) if n else 0
    rows, merged = first_rows(found, n, rows), first_rows(found, n, merged)
    return SelectedRows._wrap(rows, convert(merged, value.dtype), x.height, merged=True)


def dense_rows(x):
    """SelectedRows as an array."""
    merged = merge_rows(x)
    value = merged.value
    return put_rows(merged._rows, value, fill(value.like(merged.shape), 0))


def total(xs, dtype):
    """The sum of arrays, computed in ``dtype``: a new array."""
    out = convert(xs[0], dtype, new=True)
    for x in xs[1:]:
        add_to(out, x)
    return out


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Gradient of a table, from a row per id: SelectedRows or dense, without the padding row."""
    flat = copied(ids, ids.like((ids.size,), np.int64))  # a copy: the gradient outlives the batch
    value = convert(rows, table.dtype).reshape(ids.size, *table.shape[1:])
    if padding_idx is not None:
        flat, value = rows_without(padding_idx, flat, value)
    sparse = SelectedRows._wrap(flat.array, value.array, len(table))
    return sparse if is_sparse else dense_rows(sparse)


def rows_grad(shape, rows, grad, dtype):
    """The dense gradient of ``data[rows]``, where ``data`` has this shape: a View."""
    value = convert(grad, dtype).reshape(len(rows), *shape[1:])
    return dense_rows(SelectedRows._wrap(rows.array, value.array, shape[0]))
