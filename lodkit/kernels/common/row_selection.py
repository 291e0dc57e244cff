"""Kernels of lodkit/ops/row_selection.py: positions of what stays, in front of the shared gather of rows."""

from __future__ import annotations

from ...arrays import check_values
from ...lod import SelectedRows
from ...ops import row_selection as ops


def _take_selected(on, x, at, height, start=0):
    rows = on.take_rows(x._rows, at)
    rows = on.selected_rows.shift_rows(rows, -start) if start else rows
    return SelectedRows._wrap(rows, on.take_rows(x.value, at), height, x.is_merged)


@ops.split_selected_rows.kernel("cpu", "cuda")
def split_selected_rows(on, x, /, *, height_sections):
    check_values(x.value.dtype, "split_selected_rows")
    result, start = [], 0
    for size in ops.check_sections(height_sections, x.height):
        result.append(_take_selected(on, x, on.selected_rows.find_between(x._rows, start, start + size), size, start))
        start += size
    return tuple(result)


@ops.concat_selected_rows.kernel("cpu", "cuda")
def concat_selected_rows(on, *xs):
    ops.check_parts(xs)
    starts, height = ops.starts_of(xs)
    rows = on.join_rows([on.selected_rows.shift_rows(x._rows, start) for x, start in zip(xs, starts, strict=True)])
    return SelectedRows._wrap(rows, on.join_rows([x.value for x in xs]), height, all(x.is_merged for x in xs))


@ops.filter_selected_rows.kernel("cpu", "cuda")
def filter_selected_rows(on, x, rows, /, *, exclude):
    check_values(x.value.dtype, "filter_selected_rows")
    wanted = on.sort_rows(on.checked_ids(rows, x.height).reshape(-1), x.height)[2]
    found = on.selected_rows.find(x._rows, wanted)
    at = on.selected_rows.find_between(found, *((-1, 0) if exclude else (0, len(wanted))))
    return _take_selected(on, x, at, x.height)
