"""SelectedRows merged, made dense and added up, and gradients of tables."""

from __future__ import annotations

import numpy as np

from ....arrays import check_values
from ....arrays.cuda import add_to, convert, copy_elements, fill, iota, slots, view
from ....lod import SelectedRows
from .gather import put_rows, rows_without
from .offsets import Found, Offsets, cut, settings
from .runs import first_rows, found_runs
from .small_group_by import runs_of_sorted, sort_below, write_table
from .sorted_runs import put_sums, sums_of_runs

# Bytes of merged rows above which their number is waited for before memory is taken for them.
AT_ONCE = 32 << 20


def _find_or_make(grad, what, make):
    """What ``make(rows)`` gives for the rows of a gradient, made once for a stream, and once in each CUDA graph.

    What a graph is captured of is in its memory, and there after a replay only.
    """
    rows = view(grad._rows)
    if rows.library.captures():
        return make(rows)
    version = rows.library.version(rows.array)
    key = what, rows.library, rows.device, rows.library.queue(rows.device), settings.tile_rows, version
    found = grad._runs.get(key)
    if found is None:
        found = grad._runs[key] = make(rows)
    return found


def sort_gradient(grad):
    """The sorted rows of a gradient, and the order that sorts them."""
    return _find_or_make(grad, "sorted", lambda rows: sort_below(rows, grad.height))


def runs_of(grad):
    """Runs of equal rows of a gradient: distinct rows, Offsets, order of its rows. Synchronises if it is not merged."""

    def find(rows):
        if grad.is_merged:
            starts = iota(rows, len(rows) + 1)
            return rows, Offsets(starts, len(rows)), starts.part(0, len(rows))
        order, offsets, unique = _table(*sort_gradient(grad), grad.height)
        return unique, offsets, order

    return _find_or_make(grad, "runs", find)


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
    check_values(value.dtype, "merge_selected_rows", bfloat16=True)
    if x.is_merged:
        return SelectedRows._wrap(view(x._rows), value, x.height, merged=True)
    dtype = np.dtype(np.int64) if value.dtype.kind == "i" else value.dtype
    (ids, order), found = sort_gradient(x), len(value)
    table, offsets = write_table(ids, x.height)
    slot = slots(ids, 1) if 0 < found * value.columns * dtype.itemsize <= AT_ONCE else None
    if slot is None:
        rows = found_runs(table, offsets, order).rows
        found = len(rows)
    merged = value.like((found, *value.shape[1:]), dtype)
    if merged.size:
        noted = ids.like((1,), np.int64) if slot is None else slot.view
        sums_of_runs(table, offsets, order, ids, value, x.height, noted, merged)
    if slot is not None:
        (found,) = slot.read()
        rows, merged = first_rows(found, table), first_rows(found, merged)
    return SelectedRows._wrap(rows, convert(merged, value.dtype), x.height, merged=True)


def dense_rows(x):
    """SelectedRows as an array: the sum of each run of equal rows at its row."""
    value = view(x.value)
    check_values(value.dtype, "selected_rows_to_dense", bfloat16=True)
    out = fill(value.like((x.height, *value.shape[1:]), np.int64 if value.dtype.kind == "i" else value.dtype), 0)
    if x.is_merged:
        put_rows(view(x._rows), value, out)
    elif value.size:
        put_sums(*sort_gradient(x), value, out)
    return convert(out, value.dtype)


def total(xs, dtype):
    """The sum of arrays, computed in ``dtype``: a new array."""
    out = convert(xs[0], dtype, new=True)
    for x in xs[1:]:
        add_to(out, x)
    return out


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Gradient of a table, from a row per id: SelectedRows or dense, without the padding row."""
    # A copy, because the gradient outlives the batch.
    flat = copy_elements(ids, ids.like((ids.size,), np.int64))
    value = convert(rows, table.dtype).reshape(ids.size, *table.shape[1:])
    if padding_idx is not None:
        flat, value = rows_without(padding_idx, flat, value)
    sparse = SelectedRows._wrap(flat.array, value.array, len(table))
    return sparse if is_sparse else dense_rows(sparse)


def rows_grad(shape, rows, grad, dtype):
    """The dense gradient of ``data[rows]``, where ``data`` has this shape: a View."""
    value = convert(grad, dtype).reshape(len(rows), *shape[1:])
    return dense_rows(SelectedRows._wrap(rows.array, value.array, shape[0]))
