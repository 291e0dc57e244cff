"""A device for definitions: what ``prepare`` functions ask of a device's primitives, in plain NumPy."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from .tables import check_ids as checked_ids  # noqa: F401


def largest_id(ids):
    """The largest of ids, -1 where there are none."""
    return int(ids.max(initial=-1))


def read(x):
    """An array as one of NumPy's."""
    return x


def wrap_ids(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = integers(ids, "ids")
    return np.where((ids < 0) & (ids >= -height), ids + height, ids) if wrap else ids
