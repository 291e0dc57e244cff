"""Compiled functions over numbers that select: of sequences, of parts of sequences, of their ranges and rows."""

from __future__ import annotations

import numpy as np

from ..jit import Bytes, Numbers, compile_typed, settings
from ..jit.search import plus
from .copy_runs import FEW_MULTIPLE, as_bytes, copy_sequence
from .levels import freeze
from .offsets import part_count_error

_INT64 = np.dtype(np.int64)
_NONE = np.empty(0, _INT64)


def indices_within(numbers, count):
    """Numbers of ``count`` sequences, negative ones counted from the end; and the position of the first that is none,
    or -1.
    """
    indices = np.empty(len(numbers), _INT64)
    return indices, _indices_within.code(numbers, count, indices)


@compile_typed
def _indices_within(numbers: Numbers, count: int, indices: Numbers):
    bad = -1
    for i in range(len(numbers)):
        # Read once: another thread may write the number.
        number = numbers[i]
        number += count if number < 0 else 0
        there = 0 <= number < count
        indices[i] = number if there else 0
        if not there and bad < 0:
            bad = i
    return bad


def part_numbers(bounds, offsets, numbers):
    """Numbers within each sequence as numbers within the level.

    Also the position of the first that is outside its sequence, or -1.
    """
    chosen = np.empty(len(numbers), _INT64)
    return chosen, _part_numbers.code(bounds, offsets, numbers, chosen)


@compile_typed
def _part_numbers(bounds: Numbers, offsets: Numbers, numbers: Numbers, chosen: Numbers):
    bad = -1
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            # Read once: another thread may write the number.
            number = numbers[i]
            there = 0 <= number < bounds[s + 1] - bounds[s]
            chosen[i] = bounds[s] + number if there else 0
            if not there and bad < 0:
                bad = i
    return bad


def part_lengths(offsets, numbers):
    """Starts and lengths of the segments with these numbers; and the position of the first that is none, or -1."""
    starts, lengths = np.empty(len(numbers), _INT64), np.empty(len(numbers), _INT64)
    return starts, lengths, _part_lengths.code(offsets, numbers, starts, lengths)


@compile_typed
def _part_lengths(offsets: Numbers, numbers: Numbers, starts: Numbers, lengths: Numbers):
    bad = -1
    for i in range(len(numbers)):
        # Read once: another thread may write the number.
        s = numbers[i]
        there = 0 <= s < len(offsets) - 1
        starts[i], lengths[i] = (offsets[s], offsets[s + 1] - offsets[s]) if there else (0, 0)
        if not there and bad < 0:
            bad = i
    return bad


_MAX_INT64 = np.iinfo(np.int64).max


def range_bounds(bounds, ranges, starts, stops, by_lengths, wrap, clip):
    """Starts and stops of the ranges of each sequence, in parts of its level, and their offsets: ``sequence_slice``.

    Also the number of the first range that is not inside its sequence, or -1. ``ranges`` are the offsets of the ranges,
    None for one per sequence; ``starts`` and ``stops`` may be None.
    """
    several, has_starts, has_stops = ranges is not None, starts is not None, stops is not None
    ranges = bounds if ranges is None else ranges
    count = ranges.item(-1) if several else len(bounds) - 1
    first, last, cut = np.empty(count, _INT64), np.empty(count, _INT64), np.empty(count + 1, _INT64)
    starts, stops = starts if has_starts else _NONE, stops if has_stops else _NONE
    flags = several, has_starts, has_stops, by_lengths, bool(wrap), bool(clip)
    bad = _range_bounds.code(bounds, ranges, starts, stops, *flags, first, last, cut)
    if bad < -1:
        raise part_count_error(first, last, "the lengths of the ranges from starts to stops")
    return first, last, cut, bad


@compile_typed
def _range_bounds(
    bounds: Numbers,
    ranges: Numbers,
    starts: Numbers,
    stops: Numbers,
    several: bool,
    has_starts: bool,
    has_stops: bool,
    by_lengths: bool,
    wrap: bool,
    clip: bool,
    first: Numbers,
    last: Numbers,
    cut: Numbers,
):
    bad, cut[0], signs = -1, 0, np.int64(0)
    for s in range(len(bounds) - 1):
        count = bounds[s + 1] - bounds[s]
        for k in range(ranges[s] if several else s, ranges[s + 1] if several else s + 1):
            start = starts[k] if has_starts else 0
            start += count if wrap and start < 0 else 0
            # Read once: another thread may write the stop.
            given = stops[k] if has_stops else count
            stop, fits = given + (count if wrap and given < 0 else 0), True
            if has_stops and by_lengths:
                stop, fits = start + given if start <= 0 or given <= _MAX_INT64 - start else _MAX_INT64, given >= 0
            if clip:
                start = min(max(start, 0), count)
                stop = max(min(stop, count), start)
            if fits and 0 <= start <= stop <= count:
                first[k], last[k], cut[k + 1] = bounds[s] + start, bounds[s] + stop, plus(cut[k], stop - start)
                signs |= cut[k + 1]
            else:
                first[k], last[k], cut[k + 1] = bounds[s], bounds[s], cut[k]
                bad = k if bad < 0 else bad
    return bad if bad >= 0 or signs >= 0 else -2


def run_rows(starts, stops, count):
    """The numbers of the rows of runs, ``count`` in all, run by run."""
    rows = np.empty(count, _INT64)
    _number_rows.code(starts, stops, rows)
    return rows


@compile_typed
def _number_rows(starts: Numbers, stops: Numbers, rows: Numbers):
    at = 0
    for r in range(len(starts)):
        for i in range(starts[r], stops[r]):
            rows[at] = i
            at += 1


def take_few(t, numbers):
    """The sequences with these numbers of a tensor with one level, of NumPy; None if they are not few."""
    values, offsets, count, most = t._values, t._lod[0], numbers.size, FEW_MULTIPLE * settings.parallel_from
    if count >= most:
        return None
    cut, shape = np.empty(count + 1, _INT64), values.shape
    rows = _lengths_taken.code(offsets, numbers, cut)
    if not 0 < rows * values.size < most * shape[0]:
        return None
    out = np.empty((rows, *shape[1:]), values.dtype)
    _take.code(as_bytes(values, values.dtype), offsets, numbers, cut, as_bytes(out, out.dtype))
    return t._wrap(out, (freeze(cut),))


@compile_typed
def _lengths_taken(offsets: Numbers, numbers: Numbers, cut: Numbers):
    """Fill in offsets of the sequences with these numbers. Returns the last one, or -1 if it does not fit int64."""
    cut[0] = 0
    for k in range(len(numbers)):
        s = numbers[k]
        cut[k + 1] = plus(cut[k], offsets[s + 1] - offsets[s])
        if cut[k + 1] < 0:
            return -1
    return cut[-1]


@compile_typed
def _take(source: Bytes, offsets: Numbers, numbers: Numbers, cut: Numbers, out: Bytes):
    """Copy the sequences with these numbers, to the offsets ``cut``."""
    size = len(out) // cut[-1]
    for k in range(len(numbers)):
        copy_sequence(source, offsets, numbers[k], size, out, cut[k])
