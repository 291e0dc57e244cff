"""CUDA kernels of lodkit/ops/conversions.py, and checked offsets for other kernels."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import check_vector as integers
from ...arrays.cuda import elementwise, find_outside, vector
from ...lod.levels import bad_length
from ...ops import conversions as ops
from .primitives.offsets import LENGTH_BOUND, cut, find_facts, inspect_offsets
from .primitives.row_kernels import lower_bound, segment_of
from .primitives.scan import offsets_of
from .primitives.small_group_by import MAX_COMPARED_IDS, sort_few
from .primitives.sort import argsort


@elementwise
def differences(s, offsets, each, lengths):
    """Number of rows of every ``each`` segments together."""
    lengths[s] = vector.number(offsets, (s + 1) * each) - vector.number(offsets, s * each)


@elementwise
def _number(i, offsets, segments, ids):
    ids[i] = segment_of(offsets, segments, i)


@elementwise
def _find_unsorted(i, ids, last, found):
    """Note the position of the first id that is negative or below its predecessor; and the last id."""
    here = vector.number(ids, i)
    if here < (vector.number(ids, i - 1) if i > 0 else 0):
        vector.atomic_first(found, 0, i)
    if i == last:
        found[1] = here


@elementwise
def _starts(s, ids, n, offsets):
    """Fill in offsets from sorted ids."""
    offsets[s] = lower_bound(ids, 0, n, s)


def sum_to_offsets(lengths, tile=None, what="lengths"):
    """Offsets of lengths, and what ``inspect_offsets`` found in them. Synchronises with the device."""
    lengths = integers(lengths, "lengths")
    offsets = offsets_of(lengths)
    found = inspect_offsets(offsets, tile)
    # A sum that wraps is less than the one before.
    if found.decrease >= 0:
        raise bad_length(lengths.read(), what)
    return offsets, found


def sum_lengths(lengths, longest=False):
    """Checked offsets of lengths, their sum and, if asked for, the longest. Synchronises with the device."""
    offsets, found = sum_to_offsets(lengths, 0 if longest else None)
    return offsets, found.last, found.longest


@elementwise
def _clip(i, lengths, low, high, out):
    out[i] = min(max(vector.number(lengths, i), low), high)


def clip_lengths(lengths, low=-(1 << 63), high=(1 << 63) - 1):
    """Lengths as int64, none below ``low`` and none above ``high``."""
    lengths = integers(lengths, "lengths")
    return _clip.into(lengths.like(lengths.shape, np.int64), lengths, low, high)


def from_lengths(lengths):
    """Checked Offsets of lengths. Synchronises with the device."""
    return cut(*sum_to_offsets(lengths))


def from_offsets(offsets):
    """Checked Offsets of an array of them. Synchronises with the device."""
    offsets = integers(offsets, "offsets")
    if not offsets.size:
        ops.check_offsets(offsets.read())
    found = inspect_offsets(offsets)
    if found.decrease >= 0 or found.first != 0:
        ops.check_offsets(offsets.read())
    return cut(offsets, found)


@elementwise
def _first_gap(i, ids, found):
    """Note the position of the first id more than one above its predecessor, which is -1 for the first."""
    if vector.number(ids, i) - (vector.number(ids, i - 1) if i > 0 else -1) > 1:
        vector.atomic_first(found, 0, i)


@elementwise
def _largest(i, ids, found):
    """Note the largest id, as its distance from LONG, and the position of the first negative one."""
    here = vector.number(ids, i)
    if here < 0:
        vector.atomic_first(found, 0, i)
    else:
        vector.atomic_first(found, 1, LENGTH_BOUND - here)


def from_ids(ids, num_segments, allow_gaps=True):
    """Checked Offsets of sorted segment ids. Synchronises with the device."""
    ids = integers(ids, "segment_ids")
    decrease, last = find_facts(_find_unsorted, ids, ids.size - 1, count=2) if ids.size else (-1, -1)
    if decrease >= 0 or (num_segments is not None and not last < num_segments) or (num_segments or 0) < 0:
        ops.check_segment_ids(ids.read(), num_segments)
    if not allow_gaps and find_facts(_first_gap, ids, count=1)[0] >= 0:
        ops.check_no_gaps(ids.read())
    return _from_sorted(ids, last + 1 if num_segments is None else num_segments)


def from_unsorted_ids(ids, num_segments):
    """Checked Offsets of unsorted segment ids, and an order that groups them. Synchronises with the device."""
    ids = integers(ids, "segment_ids")
    if num_segments is None:
        negative, largest = find_facts(_largest, ids, count=2) if ids.size else (-1, -1)
        num_segments = LENGTH_BOUND - largest + 1 if largest >= 0 else 0
    else:
        negative = find_facts(find_outside, ids, num_segments, count=1)[0]
    if negative >= 0 or num_segments < 0:
        ops.check_unsorted_ids(ids.read(), num_segments)
    sorted_ids, order = (sort_few if ids.size <= MAX_COMPARED_IDS else argsort)(ids, num_segments)
    return _from_sorted(sorted_ids, num_segments), order


def _from_sorted(ids, count):
    offsets = _starts.into(ids.like((count + 1,), np.int64), ids, ids.size)
    return cut(offsets, inspect_offsets(offsets))


_OFFSETS = {"lengths": from_lengths, "offsets": from_offsets}


def to_offsets(segments, by, rows, num_segments=None):
    """Offsets over ``rows`` rows from lengths, offsets or sorted ids. Synchronises with the device."""
    if by == "ids":
        offsets = from_ids(segments, num_segments)
    else:
        offsets = _OFFSETS[by](segments)
        ops.check_num_segments(by, num_segments, len(offsets))
    ops.check_rows(by, (offsets.rows,), rows)
    return offsets


def group_segments(segments, by, rows, num_segments):
    """Offsets, and the order that brings the rows of a segment together: None unless ids are unsorted."""
    if by != "unsorted_ids":
        return to_offsets(segments, by, rows, num_segments), None
    offsets, order = from_unsorted_ids(segments, num_segments)
    ops.check_rows(by, (offsets.rows,), rows)
    return offsets, order


def lengths_of(offsets):
    """The differences of offsets."""
    return differences.into(offsets.like((len(offsets) - 1,), np.int64), offsets, 1)


def segment_numbers(offsets):
    """The segment of each row, from checked Offsets."""
    return _number.into(offsets.offsets.like((offsets.rows,), np.int64), offsets.offsets, len(offsets))


@ops.lengths_to_offsets.kernel("cuda")
def lengths_to_offsets(lengths, /):
    return from_lengths(lengths).offsets.array


@ops.offsets_to_lengths.kernel("cuda")
def offsets_to_lengths(offsets, /):
    return lengths_of(from_offsets(offsets).offsets).array


@ops.offsets_to_segment_ids.kernel("cuda")
def offsets_to_segment_ids(offsets, /):
    return segment_numbers(from_offsets(offsets)).array


@ops.lengths_to_segment_ids.kernel("cuda")
def lengths_to_segment_ids(lengths, /):
    return segment_numbers(from_lengths(lengths)).array


@ops.segment_ids_to_offsets.kernel("cuda")
def segment_ids_to_offsets(segment_ids, /, *, num_segments, allow_gaps):
    return from_ids(segment_ids, num_segments, allow_gaps).offsets.array


@ops.segment_ids_to_lengths.kernel("cuda")
def segment_ids_to_lengths(segment_ids, /, *, num_segments):
    return lengths_of(from_ids(segment_ids, num_segments).offsets).array
