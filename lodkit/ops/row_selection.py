"""SelectedRows cut along the height, put together again, and cut down to some rows."""

from __future__ import annotations

import itertools

import numpy as np

from ..arrays import MOVED, check_values, integer, mixed_types, native, to_tuple
from ..arrays.sizes import total_size
from ..base.errors import LoDError, ShapeMismatchError
from ..lod import SelectedRows
from ..registry import Dense, op, takes_bfloat16
from .shared import plain

DOCS_PAGE = "selected-rows"
SEARCH_WORDS = {
    "filter_selected_rows": "keep rows of a gradient",
    "split_selected_rows": "shard a gradient",
    "concat_selected_rows": "join gradients",
}


def check_sections(height_sections, height):
    """Sections as integers, which add up to the height."""
    sections = [
        integer(s, "height_sections") for s in to_tuple(height_sections, "split_selected_rows: height_sections")
    ]
    if sum(sections) != height or any(s < 0 for s in sections):
        raise LoDError(f"height_sections {sections} add up to {sum(sections)}, not to the height {height}")
    return sections


@op(types=MOVED)
def split_selected_rows(x: SelectedRows, /, *, height_sections: tuple) -> tuple:
    """Split along the height: one SelectedRows per section, rows counted from its start, order kept.

    The operator corresponds to Paddle's split_selected_rows.

    >>> split_selected_rows(SelectedRows([7, 1], [[1.], [2.]], 10), height_sections=(5, 5))[1]
    SelectedRows(rows=[2], value=[[1.]], height=5)
    """
    result, start = [], 0
    for size in check_sections(height_sections, x.height):
        inside = (x._rows >= start) & (x._rows < start + size)
        value = x.value[inside].astype(check_values(x.dtype, "split_selected_rows"))
        result.append(SelectedRows._wrap(x._rows[inside] - start, value, size, x.is_merged))
        start += size
    return tuple(result)


@split_selected_rows.infer_rule
def _(x, *, height_sections):
    return tuple(x.but(dims=(int(size), *x.dims[1:])) for size in height_sections)


def check_parts(xs):
    """Refuse parts with other items or of another type than the first."""
    for i, x in enumerate(xs):
        if tuple(x.shape[1:]) != tuple(xs[0].shape[1:]):
            raise ShapeMismatchError(
                f"part {i} has rows of shape {tuple(x.shape[1:])}, part 0 {tuple(xs[0].shape[1:])}"
            )
        if native(x.dtype) != native(xs[0].dtype):
            raise mixed_types(f"part {i}", x.dtype, "part 0", xs[0].dtype)
    return check_values(xs[0].dtype, "concat_selected_rows")


def starts_of(xs):
    """First row of each part, and the height of all."""
    starts = itertools.accumulate((x.height for x in xs[:-1]), initial=0)
    return [*starts], total_size((x.height for x in xs), "the height of all parts")


@op(types=MOVED)
def concat_selected_rows(*xs: SelectedRows) -> SelectedRows:
    """Put SelectedRows one below another, along the height: the inverse of ``split_selected_rows``.

    >>> part = SelectedRows([2], [[1.]], 5)
    >>> concat_selected_rows(part, part)
    SelectedRows(rows=[2, 7], value=[[1.], [1.]], height=10)
    """
    dtype, (starts, height) = check_parts(xs), starts_of(xs)
    rows = np.concatenate([x._rows + start for x, start in zip(xs, starts, strict=True)])
    value = np.concatenate([x.value for x in xs]).astype(dtype)
    return SelectedRows._wrap(rows, value, height, all(x.is_merged for x in xs))


@concat_selected_rows.infer_rule
def _(*xs):
    heights = [x.dims[0] for x in xs]
    return xs[0].but(dims=(-1 if min(heights) < 0 else sum(heights), *xs[0].dims[1:]))


@op(like="x", types=MOVED)
def filter_selected_rows(x: SelectedRows, rows: Dense, /, *, exclude: bool = False) -> SelectedRows:
    """Return the entries whose row is among ``rows``, in their order; with ``exclude`` those whose row is not.

    Raises
    ------
    RowIndexError
        One of ``rows`` is negative or not below the height.

    Examples
    --------
    >>> filter_selected_rows(SelectedRows([7, 1, 7], [[1.], [2.], [3.]], 10), [7, 9])
    SelectedRows(rows=[7, 7], value=[[1.], [3.]], height=10)
    """
    rows = plain.checked_ids(rows, x.height)
    kept = np.isin(x._rows, rows) != exclude
    value = x.value[kept].astype(check_values(x.dtype, "filter_selected_rows"))
    return SelectedRows._wrap(x._rows[kept], value, x.height, x.is_merged)


def _example(*more, **attrs):
    return lambda dtype: [((SelectedRows([2, 0, 2], np.ones((3, 4), dtype), 3), *more), attrs)]


split_selected_rows.example(_example(height_sections=(1, 2)))
concat_selected_rows.example(_example())
filter_selected_rows.example(_example([0]))


takes_bfloat16(split_selected_rows, concat_selected_rows, filter_selected_rows)
