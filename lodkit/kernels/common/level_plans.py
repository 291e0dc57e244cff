"""What becomes of levels when sequences are split, merged and cut anew: structure alone, for both devices.

``array`` makes of rows what a device's kernels take; inputs are checked first.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_rows
from ...lod import levels as _levels
from ...lod.levels import compiled, frozen
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import lod_levels as ops
from ...ops import split_merge as split
from ...ops.lod_levels import levels_of
from .copy_plan import CopyPlan


def reset_levels(x, y, target_lod, append):
    """The levels that ``lod_reset`` gives the rows of x."""
    if y is not None and target_lod is None and not isinstance(y, LoDTensor):
        new = _levels.from_lengths((ops.on_cpu(y, "y"),))
    else:
        new = ops.levels_given(y, target_lod)._lod
    upper = levels_of(x)
    if append and upper:
        ops.check_appended(x, new[0][:-1])
        new = upper + new
    _levels.check_rows(new, check_rows(values_of(x), "x"))
    return new


def reshaped_levels(x, new_dim):
    """The levels of x when its numbers are read as rows of ``new_dim``."""
    return (*x._lod[:-1], frozen(ops.reshaped_offsets(x, new_dim)))


def _runs(mask):
    """Where runs of True, and of False, start and stop, and where they lie end to end; how many, of how many numbers.

    Arrays of a row for True and one for False.
    """
    starts, stops, to = np.empty((3, 2, len(mask) // 2 + 1), np.int64)
    *runs, trues, falses = compiled().runs_of(mask, starts, stops, to)
    return (starts, stops, to), runs, (trues, falses)


def plan_split(x, mask, level, array):
    """Plans of ``placed`` for the two parts; an array has one level, of all its rows."""
    mask, level = split.check_split(x, mask, level)
    values, levels = array(values_of(x)), levels_of(x)
    upper = [_counted(levels, m, level) for m in (mask, ~mask)] if level else [(), ()]
    found, runs, totals = _runs(mask)
    plans = []
    for k, made in enumerate(upper):
        starts, stops, to = (numbers[k, : runs[k]] for numbers in found)
        made, total = list(made), totals[k]
        for offsets in levels[level:]:
            made.append(np.empty(total + 1, np.int64))
            total = compiled().cut_level(offsets, starts, stops, to, made[-1])
            frozen(made[-1])
        plans.append(([values], tuple(made) or (np.array([0, total]),), [CopyPlan(starts, stops, to)]))
    return plans


def _counted(levels, mask, level):
    """The levels above ``level``, whose sequences are counted where a mask is True."""
    before = compiled().lengths_to_offsets(mask.astype(np.int64))
    return *levels[: level - 1], frozen(before[levels[level - 1]])


def plan_merge(in_true, in_false, mask, level, array):
    """The plan of ``placed``; arrays have one level, of all their rows."""
    (mask, level), inputs = split.check_merge(in_true, in_false, mask, level), (in_true, in_false)
    (to, ends, starts), runs, _ = _runs(mask)  # which lie end to end in the inputs
    stops, total = starts + (ends - to), len(mask)
    upper, other = map(levels_of, inputs)
    levels = [*upper[: level - 1], frozen(upper[level - 1] + other[level - 1])] if level else []
    for offsets in zip(upper[level:], other[level:], strict=True):
        levels.append(np.empty(total + 1, np.int64))
        total = compiled().merge_level(*offsets, 1 - mask[:1].sum(), sum(runs), starts, stops, to, levels[-1])
        frozen(levels[-1])
    places = [CopyPlan(starts[k, :n], stops[k, :n], to[k, :n]) for k, n in enumerate(runs)]
    return [array(values_of(x)) for x in inputs], tuple(levels) or (np.array([0, total]),), places
