"""Ids of a table: checked, the error for one outside, and the gradient that flows back to their rows."""

from __future__ import annotations

import numpy as np

from ..arrays import integers
from ..errors import RowIndexError
from ..selected_rows import SelectedRows


def check_ids(ids, height, name="ids", error=None):
    """``ids`` as int64, each inside the table; ``error(ids, position)`` makes the exception."""
    ids = integers(ids, name)
    bad = (ids < 0) | (ids >= height)
    if bad.any():
        at = int(np.argmax(bad.reshape(-1)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids


def bad_id(ids, height, name, position):
    """The error for the id at ``position`` of the flattened ids."""
    where = tuple(int(i) for i in np.unravel_index(position, ids.shape))
    place = ", ".join(map(str, where))
    return RowIndexError(
        f"{name}[{place}] = {ids[where]} is outside [0, {height}) (the table has {height} rows); "
        "map unknown ids to a row of their own first"
    )


def bad_along(size, axis):
    """What makes the error for a bad id along an axis, whose entries are rows on the first alone."""
    if not axis:
        return None

    def error(ids, position):
        place = ", ".join(str(int(i)) for i in np.unravel_index(position, ids.shape))
        number = ids.reshape(-1)[position]
        return RowIndexError(f"ids[{place}] = {number} is outside [0, {size}) (axis {axis} of data has {size} entries)")

    return error


def check_padding(padding_idx, height):
    if padding_idx is not None and not 0 <= padding_idx < height:
        raise RowIndexError(f"padding_idx = {padding_idx} is outside [0, {height}) (the table has {height} rows)")


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Rows that flow to ids as a table gradient: SelectedRows, or dense with duplicates added up."""
    ids, rows = ids.reshape(-1), rows.reshape(ids.size, *table.shape[1:])
    if padding_idx is not None:
        rows, ids = rows[ids != padding_idx], ids[ids != padding_idx]
    if is_sparse:
        return SelectedRows(ids, rows.astype(table.dtype), len(table))
    dense = np.zeros(table.shape, np.float64)
    np.add.at(dense, ids, rows)
    return dense.astype(table.dtype)
