"""Kernels of lodkit/ops/split_merge.py: plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.sizes import total_size
from ...lod import LoDTensor, frozen, values_of
from ...lod.offsets import cut_level, lengths_to_offsets, merge_level, runs_of
from ...ops import split_merge as ops
from ...ops.lod_levels import levels_of
from ...registry import Dense
from .copy_by_plan import placed
from .copy_plan import CopyPlan


@ops.split_lod_tensor.kernel("cpu", "cuda")
def split_lod_tensor(on, x: Dense | LoDTensor, mask, /, *, level):
    parts = [placed(on, plan) for plan in _plan_split(x, mask, level)]
    return tuple(parts) if levels_of(x) else tuple(part.values for part in parts)


@ops.merge_lod_tensor.kernel("cpu", "cuda")
def merge_lod_tensor(on, in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask, /, *, level, out=None):
    made = placed(on, _plan_merge(in_true, in_false, mask, level), out)
    return made if levels_of(in_true) else made.values


def _runs(mask):
    """Find the runs of True, and of False.

    Returns
    -------
    starts, stops, to : int64 arrays of shape (2, most)
        Per run its start, its stop, and its start where the runs of its kind are joined. Row 0 is for True.
    runs, totals : pairs of int
        Numbers of runs, and of the elements in them.
    """
    starts, stops, to = np.empty((3, 2, len(mask) // 2 + 1), np.int64)
    *runs, trues, falses = runs_of(mask, starts, stops, to)
    return (starts, stops, to), runs, (trues, falses)


def _plan_split(x, mask, level):
    """A plan per part; an array has one level, of all its rows."""
    mask, level = ops.prepare_split(x, mask, level)
    values, levels = [values_of(x)], levels_of(x)
    found, runs, totals = _runs(mask)
    plans = []
    for k, kept in enumerate((mask, ~mask)):
        starts, stops, to = (numbers[k, : runs[k]] for numbers in found)
        made, total = _counted(levels, kept, level) if level else [], totals[k]
        for offsets in levels[level:]:
            made.append(np.empty(total + 1, np.int64))
            total = cut_level(offsets, starts, stops, to, made[-1])
            made[-1] = frozen(made[-1])
        plans.append((values, tuple(made) or (frozen(np.array([0, total])),), [CopyPlan(starts, stops, to)]))
    return plans


def _counted(levels, mask, level):
    """The levels above ``level``, of the sequences where a mask is True."""
    before = lengths_to_offsets(mask.astype(np.int64))
    return [*levels[: level - 1], frozen(before[levels[level - 1]])]


def _plan_merge(in_true, in_false, mask, level):
    """The plan of both inputs; arrays have one level, of all their rows."""
    (mask, level), inputs = ops.prepare_merge(in_true, in_false, mask, level), (in_true, in_false)
    (to, ends, starts), runs, _ = _runs(mask)  # joined in the inputs
    stops, total = starts + (ends - to), len(mask)
    upper, other = map(levels_of, inputs)
    for of_level in zip(upper, other, strict=True):
        total_size([offsets[-1] for offsets in of_level], "the lengths of in_true and in_false")
    levels = [*upper[: level - 1], frozen(upper[level - 1] + other[level - 1])] if level else []
    for offsets in zip(upper[level:], other[level:], strict=True):
        levels.append(np.empty(total + 1, np.int64))
        total = merge_level(*offsets, int(not mask[:1].any()), sum(runs), starts, stops, to, levels[-1])
        levels[-1] = frozen(levels[-1])
    plans = [CopyPlan(starts[k, :n], stops[k, :n], to[k, :n]) for k, n in enumerate(runs)]
    return [values_of(x) for x in inputs], tuple(levels) or (frozen(np.array([0, total])),), plans
