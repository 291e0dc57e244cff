"""CUDA kernels of lodkit/ops/selected_rows.py: sort, then reduce each run of equal rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda.elementwise import add_to, convert, copied
from ...arrays.cuda.memory import view
from ...lod.selected_rows import SelectedRows
from ...ops import selected_rows as ops
from ...registry import Dense
from .primitives.gather import add_rows
from .primitives.merge import dense_rows, merge_rows


@ops.merge_selected_rows.kernel("cuda")
def merge(x: SelectedRows, /):
    return merge_rows(x)


@ops.selected_rows_to_dense.kernel("cuda")
def dense(x: SelectedRows, /):
    return dense_rows(x)


@ops.get_tensor_from_selected_rows.kernel("cuda")
def get_tensor(x: SelectedRows, /):
    return x.value


def _checked(xs):
    """Views of what is to be added, all alike."""
    views = [view(x.value if isinstance(x, SelectedRows) else x) for x in xs]
    shapes = [
        (x.height, *v.shape[1:]) if isinstance(x, SelectedRows) else v.shape for x, v in zip(xs, views, strict=True)
    ]
    ops.check_alike([ops.Alike(shape, v.dtype) for shape, v in zip(shapes, views, strict=True)])
    return views


@ops.sum.kernel("cuda")
def add_selected(*xs: SelectedRows):
    values = _checked(xs)
    rows = [view(x.rows) for x in xs]
    count = sum(map(len, rows))
    all_rows, all_values = rows[0].like((count,), np.int64), values[0].like((count, *values[0].shape[1:]))
    start = 0
    for row, value in zip(rows, values, strict=True):
        copied(row, all_rows.part(start, start + len(row)))
        copied(value, all_values.part(start, start + len(row)))
        start += len(row)
    return SelectedRows._wrap(all_rows.array, all_values.array, xs[0].height)


@ops.sum.kernel("cuda")
def add_dense(*xs: Dense):
    views = _checked(xs)
    return convert(_total(views), views[0].dtype).array


def _total(views):
    """The sum of dense arrays, in the type that they compute in."""
    first = views[0]
    total = convert(first, first.compute_dtype if first.dtype == np.float16 else first.dtype, new=True)
    for other in views[1:]:
        add_to(total, other)
    return total


@ops.sum.kernel("cuda")
def add_mixed(*xs: Dense | SelectedRows):
    views = _checked(xs)
    sparse = merge_rows(add_selected(*(_widened(x) for x in xs if isinstance(x, SelectedRows))))
    total = _total([v for x, v in zip(xs, views, strict=True) if not isinstance(x, SelectedRows)])
    add_rows(view(sparse.rows), view(sparse.value), total)
    return convert(total, views[0].dtype).array


def _widened(x):
    """float16 as float32: halves are rounded once, at the end."""
    value = view(x.value)
    value = convert(value, value.compute_dtype if value.dtype == np.float16 else value.dtype)
    return SelectedRows._wrap(x.rows, value.array, x.height)
