"""A device for definitions: what ``prepare`` functions ask of a device's primitives, in plain NumPy."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from ...arrays.generic import refuse_overlap as refuse_overlap
from .tables import check_ids as checked_ids  # noqa: F401


def read(x):
    """An array as one of NumPy's."""
    return x


def merge_rows(x):
    """SelectedRows with sorted rows, each once."""
    return x.merge()


def sort_rows(rows, height):
    """Sort row numbers, stably: their order, the start of each run of equal ones, and the row of each run."""
    unique, counts = np.unique(rows, return_counts=True)
    return np.argsort(rows, kind="stable"), np.concatenate([[0], np.cumsum(counts)]), unique


def squared_norm(x):
    """The sum of all squares, in double precision."""
    return float(np.square(x, dtype=np.float64).sum())


def wrap_ids(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = integers(ids, "ids")
    return np.where((ids < 0) & (ids >= -height), ids + height, ids) if wrap else ids
