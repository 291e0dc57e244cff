"""CUDA part of lodkit/ops/ranges.py: row numbers of ranges and segments."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import checked_ids, elementwise, ids_of, vector
from ...ops import ranges as ops
from .conversions import differences, from_lengths, segment_numbers, sum_to_offsets, to_offsets
from .primitives.offsets import find_facts
from .primitives.row_kernels import segment_of


@elementwise
def _split(i, starts, lengths, ranges, rows, first):
    """Starts and lengths of ranges; note in first[0] the first range that is not inside the rows."""
    start, length = vector.number(ranges, 2 * i), vector.number(ranges, 2 * i + 1)
    starts[i], lengths[i] = start, length
    if start < 0 or length < 0 or start > rows - length:
        vector.atomic_first(first, 0, i)


@elementwise
def _pick(i, offsets, segments, ids, starts, lengths):
    """Starts and lengths of the segments with these ids; no rows for an id outside."""
    s = vector.number(ids, i)
    there = 0 <= s < segments
    starts[i] = vector.number(offsets, s) if there else 0
    lengths[i] = vector.number(offsets, s + 1) - vector.number(offsets, s) if there else 0


@elementwise
def _number_rows(i, starts, offsets, segments, rows):
    s = segment_of(offsets, segments, i)
    rows[i] = vector.number(starts, s) + i - vector.number(offsets, s)


@elementwise
def _fixed_rows(i, starts, lengths, key, keyed, feature, features, length, rows):
    """Rows of a feature's ranges of one length, -1 for others; sorted by key: each row counts those before it."""
    at, k = i // length * features + feature, i % length
    start, there = vector.number(starts, at), vector.number(lengths, at) == length
    rank = 0 if keyed and there else k
    if keyed and there:
        mine = vector.number(key, start + k)
        for j in range(length):
            other = vector.number(key, start + j)
            rank += (other < mine) | ((other == mine) & (j < k))
    rows[i - k + rank] = start + k if there else -1


def check_ranges(ranges, rows):
    """Starts and lengths of checked ranges. Synchronises with the device."""
    ranges = ids_of(ranges, "ranges")
    ops.check_ranges_shape(ranges.shape)
    starts, lengths = (ranges.like(ranges.shape[:2], np.int64) for _ in range(2))
    first = find_facts(_split, starts, lengths, ranges, rows, count=1)[0]
    if first >= 0:
        raise ops.bad_range(ranges.read(), first, rows)
    return starts, lengths


def rows_of(starts, lengths, what):
    """Row numbers of runs of rows, one run after another, and offsets of the runs; ``what`` has these lengths.

    Synchronises with the device.
    """
    offsets, found = sum_to_offsets(lengths, what=what)
    return _number_rows.into(starts.like((found.last,), np.int64), starts, offsets, len(lengths)), offsets


def totals(lengths, offsets):
    """Rows of each example, by the offsets of all ranges."""
    return differences.into(lengths.like((len(lengths),)), offsets, lengths.shape[1])


def fixed_rows(starts, lengths, key, feature, length):
    """Rows of a feature's ranges of one length, -1 for other ranges; sorted by key within each range."""
    rows, keys = starts.like((len(starts) * length,)), starts if key is None else key
    return _fixed_rows.into(rows, starts, lengths, keys, int(key is not None), feature, starts.shape[1], length)


def segments(rows, lengths, ids):
    """Starts and lengths of the segments with these ids. Synchronises with the device."""
    offsets = to_offsets(lengths, "lengths", rows)
    ids = checked_ids(ids, len(offsets))
    starts, found = (ids.like((ids.size,), np.int64) for _ in range(2))
    _pick(ids.size, offsets.offsets, len(offsets), ids, starts, found)
    return starts, found


def segment_ids(lengths):
    """Segment id of each row. Synchronises with the device."""
    return segment_numbers(from_lengths(lengths))
