"""CPU part of lodkit/ops/ranges.py: row numbers of ranges and segments."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from ...base.errors import bad_id
from ...lod import offsets as _lod
from ...lod.selection import part_lengths, run_rows
from ...ops.ranges import check_ranges as check_ranges
from .conversions import lengths_to_offsets, to_offsets


def rows_of(starts, lengths, what):
    """Row numbers of runs of rows, one run after another, and offsets of the runs; ``what`` has these lengths."""
    offsets = _lod.lengths_to_offsets(lengths, what)
    return run_rows(starts, starts + lengths, offsets.item(-1)), offsets


def totals(lengths, offsets):
    """Rows of each example; ``offsets`` are for other devices."""
    return lengths.sum(axis=1)


def fixed_rows(starts, lengths, key, feature, length):
    """Rows of a feature's ranges of one length, -1 for other ranges; sorted by key within each range."""
    there = (lengths[:, feature] == length).nonzero()[0]
    rows = np.full((len(starts), length), -1)
    found = starts[there, feature, None] + np.arange(length)
    rows[there] = found if key is None else np.take_along_axis(found, np.argsort(key[found], 1, "stable"), 1)
    return rows.reshape(-1)


def segments(rows, lengths, ids):
    """Starts and lengths of the segments with these ids."""
    offsets = to_offsets(lengths, "lengths", rows)
    ids = integers(ids, "ids")
    starts, found, bad = part_lengths(offsets, ids.reshape(-1))
    if bad >= 0:
        raise bad_id(ids, len(offsets) - 1, "ids", bad)
    return starts, found


def segment_ids(lengths):
    """Segment id of each row."""
    return _lod.segment_numbers(lengths_to_offsets(lengths))
