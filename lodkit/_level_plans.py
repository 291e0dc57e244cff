"""What becomes of levels when sequences are split, merged and cut anew: structure alone, for both devices.

``array`` makes of rows what a device's kernels take; inputs are checked first.
"""

from __future__ import annotations

import numpy as np

from . import _levels
from ._levels import compiled, frozen, move_runs
from ._placement import Placement
from .lod_tensor import LoDTensor, values_of
from .ops import lod_levels as ops


def reset_levels(x, y, target_lod, append):
    """The levels that ``lod_reset`` gives the rows of x."""
    if y is not None and target_lod is None and not isinstance(y, LoDTensor):
        new = _levels.from_lengths((ops.on_cpu(y, "y"),))
    else:
        new = ops.levels_given(y, target_lod)._lod
    upper = ops.levels_of(x)
    if append and upper:
        ops.check_appended(x, new[0][:-1])
        new = upper + new
    _levels.check_rows(new, values_of(x))
    return new


def reshaped_levels(x, new_dim):
    """The levels of x when its numbers are read as rows of ``new_dim``."""
    return (*x._lod[:-1], frozen(ops.reshaped_offsets(x, new_dim)))


def _runs(mask):
    """Where runs of equal numbers start and stop: those of True, and those of False."""
    bounds = np.zeros(1, np.int64)
    if len(mask):
        bounds = np.concatenate([bounds, np.flatnonzero(mask[1:] != mask[:-1]) + 1, [len(mask)]])
    first = 0 if len(mask) and mask[0] else 1
    return [(bounds[:-1][k::2], bounds[1:][k::2]) for k in (first, 1 - first)]


def plan_split(x, mask, level, array):
    """Plans of ``placed`` for the two parts; an array has one level, of all its rows."""
    mask = ops.check_split(x, mask, level)
    values, levels = array(values_of(x)), ops.levels_of(x)
    level %= max(1, len(levels))
    return [_part(values, levels, m, *run, level) for m, run in zip((mask, ~mask), _runs(mask), strict=True)]


def _part(values, levels, mask, starts, stops, level):
    upper = list(levels[: max(0, level - 1)])
    if level:
        upper.append(frozen(compiled().lengths_to_offsets(mask.astype(np.int64))[levels[level - 1]]))
    for offsets in levels[level:]:
        upper.append(frozen(compiled().cut_offsets(offsets, starts, stops)))
        starts, stops = offsets[starts], offsets[stops]
    ends = np.cumsum(stops - starts)
    rows = int(ends[-1]) if len(ends) else 0
    return [values], tuple(upper) or (np.array([0, rows]),), [Placement(starts, stops, ends - stops + starts)]


def plan_merge(in_true, in_false, mask, level, array):
    """The plan of ``placed``; arrays have one level, of all their rows."""
    mask, inputs = ops.check_merge(in_true, in_false, mask, level), (in_true, in_false)
    places = [_gathered(*run) for run in _runs(mask)]
    both = [ops.levels_of(x) for x in inputs]
    levels = list(both[0][: max(0, level - 1)])
    if level:
        levels.append(frozen(both[0][level - 1] + both[1][level - 1]))
    for lower in zip(*(x[level:] for x in both), strict=True):
        lengths = np.empty(sum(len(offsets) - 1 for offsets in lower), np.int64)
        for offsets, place in zip(lower, places, strict=True):
            move_runs(offsets[1:] - offsets[:-1], place, lengths)
        levels.append(frozen(compiled().lengths_to_offsets(lengths)))
        places = [
            Placement(offsets[place.starts], offsets[place.stops], levels[-1][place.to])
            for offsets, place in zip(lower, places, strict=True)
        ]
    return [array(values_of(x)) for x in inputs], tuple(levels) or (np.array([0, len(mask)]),), places


def _gathered(starts, stops):
    """Runs that lie end to end in an input, and where they go."""
    ends = np.cumsum(stops - starts)
    return Placement(ends - stops + starts, ends, starts)
