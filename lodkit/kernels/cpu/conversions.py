"""CPU kernels of lodkit/ops/conversions.py, and checked offsets for other kernels."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from ...arrays.ids import has_outside
from ...jit import njit
from ...lod import offsets as _lod
from ...ops import conversions as ops


@njit
def _differences(offsets, lengths):
    """Fill in lengths from offsets; False if those decrease or do not start at 0."""
    bad = offsets[0] != 0
    for i in range(len(lengths)):
        lengths[i] = offsets[i + 1] - offsets[i]
        # The difference may be too large for int64.
        bad |= offsets[i + 1] < offsets[i]
    return not bad


@njit
def _is_sorted(ids):
    bad = len(ids) > 0 and ids[0] < 0
    for i in range(len(ids) - 1):
        bad |= ids[i + 1] < ids[i]
    return not bad


@njit
def _starts(ids, offsets):
    """Fill in offsets from sorted ids: each row moves the end of its segment, without a branch (a third less time).

    An unsigned index skips Numba's branch for negative ones: less than half the time.
    """
    offsets[:] = 0
    for i in range(len(ids)):
        s = np.uint64(ids[i])
        # The test is for an id that another thread wrote since it was checked.
        if s < np.uint64(len(offsets) - 1):
            offsets[s + np.uint64(1)] = i + 1
    for s in range(1, len(offsets)):
        offsets[s] = max(offsets[s], offsets[s - 1])


@ops.lengths_to_offsets.kernel("cpu")
def lengths_to_offsets(lengths, /):
    vector = integers(lengths, "lengths")
    if vector.ndim != 1:
        ops.check_lengths(vector)
    return _lod.lengths_to_offsets(vector)


@ops.offsets_to_lengths.kernel("cpu")
def offsets_to_lengths(offsets, /):
    offsets = integers(offsets, "offsets")
    if offsets.ndim != 1 or not len(offsets):
        ops.check_offsets(offsets)
    lengths = np.empty(len(offsets) - 1, np.int64)
    if not _differences(offsets, lengths):
        ops.check_offsets(offsets)
    return lengths


@ops.offsets_to_segment_ids.kernel("cpu")
def offsets_to_segment_ids(offsets, /):
    return _lod.segment_numbers(checked_offsets(offsets))


@ops.lengths_to_segment_ids.kernel("cpu")
def lengths_to_segment_ids(lengths, /):
    return offsets_to_segment_ids(lengths_to_offsets(lengths))


@ops.segment_ids_to_offsets.kernel("cpu")
def segment_ids_to_offsets(segment_ids, /, *, num_segments, allow_gaps=True):
    ids = integers(segment_ids, "segment_ids")
    if ids.ndim != 1 or not _is_sorted(ids):
        ops.check_segment_ids(ids, num_segments)
    if not allow_gaps:
        ops.check_no_gaps(ids)
    needed = max(int(ids[-1]), -1) + 1 if len(ids) else 0
    if num_segments is None:
        num_segments = needed
    elif num_segments < needed:
        ops.check_segment_ids(ids, num_segments)
    offsets = np.empty(num_segments + 1, np.int64)
    _starts(ids, offsets)
    return offsets


@ops.segment_ids_to_lengths.kernel("cpu")
def segment_ids_to_lengths(segment_ids, /, *, num_segments):
    return offsets_to_lengths(segment_ids_to_offsets(segment_ids, num_segments=num_segments))


def sum_lengths(lengths, longest=False):
    """Checked offsets of lengths, their sum and, if asked for, the longest."""
    offsets = lengths_to_offsets(lengths)
    return offsets, offsets.item(-1), int(_lod.longest_length(offsets)) if longest else None


def checked_offsets(offsets):
    """Offsets that kernels may trust: int64, from 0, not decreasing, and a copy that no other thread writes."""
    offsets = np.array(integers(offsets, "offsets"))
    offsets_to_lengths(offsets)
    return offsets


def unsorted_ids(segments, num_segments):
    """Checked ids, int64, and the number of segments."""
    ids = integers(segments, "segment_ids")
    if ids.ndim != 1 or num_segments is None:
        ops.check_unsorted_ids(ids, num_segments)
        num_segments = int(ids.max()) + 1 if len(ids) else 0
    if num_segments < 0 or has_outside(ids, num_segments):
        ops.check_unsorted_ids(ids, num_segments)
    return ids, num_segments


_OFFSETS = {"lengths": lengths_to_offsets, "offsets": checked_offsets}


def to_offsets(segments, by, rows, num_segments=None):
    """Offsets over ``rows`` rows from lengths, offsets or sorted ids."""
    if by == "ids":
        offsets = segment_ids_to_offsets(segments, num_segments=num_segments)
    else:
        offsets = _OFFSETS[by](segments)
        if num_segments is not None:
            ops.check_num_segments(by, num_segments, len(offsets) - 1)
    if offsets.item(-1) != rows:
        ops.check_rows(by, offsets, rows)
    return offsets


def group_segments(segments, by, rows, num_segments):
    """Offsets, and the order that brings the rows of a segment together: None unless ids are unsorted."""
    if by != "unsorted_ids":
        return to_offsets(segments, by, rows, num_segments), None
    # Private copy: the ids are read twice, and another thread may write to the array meanwhile.
    ids = np.array(integers(segments, "segment_ids"))
    offsets, order = _lod.sort_by_segment(*unsorted_ids(ids, num_segments))
    ops.check_rows(by, offsets, rows)
    return offsets, order
