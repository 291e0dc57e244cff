"""A device for definitions: what ``prepare`` functions ask of a device's primitives, in plain NumPy."""

from __future__ import annotations

import operator

import numpy as np

from ...arrays import integers
from ...arrays import output as output
from ...lod.levels import check_vector as check_vector
from .. import conversions as conversions
from .tables import check_ids as checked_ids  # noqa: F401

take = operator.getitem


def wrap_ids(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = integers(ids, "ids")
    return np.where((ids < 0) & (ids >= -height), ids + height, ids) if wrap else ids


def put_rows(rows, value, out):
    """``out[rows[i]] = value[i]``, for rows that are listed once."""
    out[rows] = value
    return out
