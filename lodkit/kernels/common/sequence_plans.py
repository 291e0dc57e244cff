"""Which rows operators on sequences take, and the levels of their results: structure alone, on the CPU.

A plan is ``(values, levels, place)``: what the device's kernels take of the input's rows, the levels of the result, and
where its rows come from: starts and stops of runs that follow each other there, or a vector of numbers of rows.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_values
from ...lod.levels import frozen
from ...lod.lod_tensor import values_of
from ...lod.offsets import (
    cut_parts,
    lengths_to_offsets,
    part_numbers,
    range_bounds,
    reversed_numbers,
    segment_numbers,
    sort_by_segment,
)
from ...ops.shared import sequences as checks
from .copy_plan import CopyPlan, merged


def _same(x):
    return x


def _parts(x, values, depth, starts, stops, above):
    """The parts ``starts[k]:stops[k]`` of a depth, one range after another, under the levels ``above``."""
    levels, count = [*above], above[-1].item(-1) if above else len(starts)
    for offsets in x._lod[depth:]:
        cut, starts, stops = cut_parts(offsets, starts, stops, count)
        levels.append(frozen(cut))
        count = cut.item(-1)
    return values, tuple(levels), (starts, stops)


def _numbered(x, values, depth, numbers, above):
    """The parts of a depth with these numbers."""
    if depth == x.lod_level:
        return values, above, numbers
    return _parts(x, values, depth, numbers, numbers + 1, above)


def laid(place):
    """Runs, one after another in the result."""
    starts, stops = place
    return CopyPlan(starts, stops, lengths_to_offsets(stops - starts)[:-1])


def _values(x, name, array):
    """What the device's kernels take of the rows of ``x``."""
    values = array(x.values)
    check_values(values.dtype, name)
    return values


def repeats(x, y, ref_level):
    """Offsets that say how often each row, or sequence, of ``x`` is repeated."""
    offsets = y._lod[y._level(ref_level)]
    checks.check_repeats("sequence_expand", x, y, offsets, f"level {ref_level}")
    return offsets


def plan_expand(x, y, ref_level, array=_same):
    """Only where ``x`` has sequences."""
    values = _values(x, "sequence_expand", array)
    return _numbered(x, values, 0, segment_numbers(repeats(x, y, ref_level)), ())


def plan_reverse(x, level, array=_same):
    values = _values(x, "sequence_reverse", array)
    level = x._level(level)
    return _numbered(x, values, level + 1, reversed_numbers(x._lod[level]), x._lod[: level + 1])


def plan_concat(xs, level, array=_same):
    values = [_values(x, "sequence_concat", array) for x in xs]
    levels, places = merged([x._lod[level:] for x in xs])
    return values, (*xs[0]._lod[:level], *levels), places


def plan_slice(x, starts, stops, by, wrap, clip, level, array=_same):
    values = _values(x, "sequence_slice", array)
    level = x._level(level)
    starts, stops, ranges = checks.check_slices(x, starts, stops, level)
    bounds, above = x._lod[level], x._lod[:level]
    first, last, cut, bad = range_bounds(bounds, ranges, starts, stops, by == "lengths", wrap, clip)
    if bad >= 0:
        i = bad if ranges is None else int(np.searchsorted(ranges, bad, "right")) - 1
        given = (None if numbers is None else int(numbers[bad]) for numbers in (starts, stops))
        checks.range_of(i, int(bounds[i + 1] - bounds[i]), *given, by, wrap, clip)
    if ranges is not None:
        above = (*above, ranges)
    return _parts(x, values, level + 1, first, last, (*above, frozen(cut)))


def plan_select(x, selected, level, array=_same):
    values = _values(x, "sequence_select", array)
    level = x._level(level)
    numbers, offsets = checks.check_selected(x, selected, level)
    chosen, bad = part_numbers(x._lod[level], offsets, numbers)
    if bad >= 0:
        parent = int(np.searchsorted(offsets, bad, "right")) - 1
        count = int(x._lod[level][parent + 1] - x._lod[level][parent])
        raise checks.unselectable(int(numbers[bad]), parent, bad - int(offsets[parent]), count, level)
    return _numbered(x, values, level + 1, chosen, (*x._lod[:level], offsets))


def plan_sort(x, keys, descending, level, array=_same):
    values = _values(x, "sequence_sort", array)
    depth = 0 if level is None else x._level(level) + 1
    keys = checks.check_sort_keys(values_of(keys), checks.count_parts(x, depth), level)
    order = np.argsort(_ascending(keys) if descending else keys, kind="stable")
    if level is not None:
        owners = segment_numbers(x._lod[depth - 1])
        order = order[sort_by_segment(owners[order], checks.count_parts(x, depth - 1))[1]]
    return _numbered(x, values, depth, order, x._lod[:depth])


def _ascending(keys):
    """Keys in the opposite order, NaN last as before. The complement of integers does not overflow."""
    return -keys if keys.dtype.kind == "f" else ~keys


def overlap(place):
    """Whether a row of the input is taken more than once."""
    starts, stops = place if type(place) is tuple else (place, place + 1)
    some = np.flatnonzero(stops > starts)
    order = some[np.argsort(starts[some], kind="stable")]
    return bool((starts[order[1:]] < stops[order[:-1]]).any())
