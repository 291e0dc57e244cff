"""Ids of a table: checks, and the gradient of the table."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from ...base.errors import RowIndexError, bad_id
from ...lod import SelectedRows


def check_ids(ids, height, name="ids", error=None):
    """``ids`` as int64, each in ``[0, height)``; ``error(ids, position)`` makes the exception."""
    ids = integers(ids, name)
    bad = (ids < 0) | (ids >= height)
    if bad.any():
        at = int(np.argmax(bad.reshape(-1)))
        raise error(ids, at) if error else bad_id(ids, height, name, at)
    return ids


def check_padding(padding_idx, height):
    if padding_idx is not None and not 0 <= padding_idx < height:
        raise RowIndexError(f"padding_idx = {padding_idx} is outside [0, {height}) (the table has {height} rows)")


def table_grad(table, ids, rows, padding_idx, is_sparse):
    """Gradient of a table, from a row per id: SelectedRows, or dense with duplicates added up."""
    ids, rows = ids.reshape(-1), rows.reshape(ids.size, *table.shape[1:])
    if padding_idx is not None:
        rows, ids = rows[ids != padding_idx], ids[ids != padding_idx]
    if is_sparse:
        return SelectedRows(ids, rows.astype(table.dtype), len(table))
    dense = np.zeros(table.shape, np.float64)
    np.add.at(dense, ids, rows)
    return dense.astype(table.dtype)
