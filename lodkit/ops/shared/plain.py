"""A device for definitions: what ``prepare`` functions ask of a device's primitives, in plain NumPy."""

from __future__ import annotations

import operator

import numpy as np

from ...arrays import integers as integers
from ...arrays import output as output
from ...arrays import refuse_overlap as refuse_overlap
from ...lod import check_vector as check_vector
from ...lod.levels import load_compiled
from .. import conversions as conversions
from ..conversions import lengths_to_offsets
from .tables import check_ids as checked_ids  # noqa: F401
from .tables import check_ids as ids_in_range  # noqa: F401

take = operator.getitem


def zeros(shape, dtype, like):
    """A new array of zeros."""
    return np.zeros(shape, dtype)


def part(x, start, stop):
    """The rows from ``start`` to ``stop``, in place."""
    return x[start:stop]


def read(x):
    """An array as one of NumPy's."""
    return x


def send(like, x):
    """A NumPy array on the device of ``like``."""
    return x


def clip_lengths(lengths, low=None, high=None):
    """Lengths as int64, none below ``low`` and none above ``high``."""
    lengths = integers(lengths, "lengths")
    lengths = lengths if low is None else np.maximum(lengths, low)
    return lengths if high is None else np.minimum(lengths, high)


def sum_lengths(lengths, longest=False):
    """Checked offsets of lengths, their sum and, if asked for, the longest."""
    offsets = lengths_to_offsets.definition(lengths)
    return offsets, offsets.item(-1), int(np.diff(offsets).max(initial=0)) if longest else None


def largest_id(ids):
    """The largest of ids, -1 where there are none."""
    return int(ids.max(initial=-1))


def merge_rows(x):
    """SelectedRows with sorted rows, each once."""
    return x.merge()


def sort_rows(rows, height):
    """Sort row numbers, stably: their order, the start of each run of equal ones, and the row of each run."""
    unique, counts = np.unique(rows, return_counts=True)
    return np.argsort(rows, kind="stable"), load_compiled().lengths_to_offsets(counts), unique


def squared_norm(x):
    """The sum of all squares, in double precision."""
    return float(np.square(x, dtype=np.float64).sum())


def wrap_ids(ids, height, wrap):
    """Ids that count from the end, counted from the start; those before the start stay as they are."""
    ids = integers(ids, "ids")
    return np.where((ids < 0) & (ids >= -height), ids + height, ids) if wrap else ids


def put_rows(rows, value, out):
    """``out[rows[i]] = value[i]``, for rows that are listed once."""
    out[rows] = value
    return out
