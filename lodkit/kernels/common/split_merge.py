"""Kernels of lodkit/ops/split_merge.py: plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.sizes import total_size
from ...lod import LoDTensor, freeze, values_of
from ...lod.offsets import cut_level, lengths_to_offsets, merge_level, runs_of
from ...ops import split_merge as ops
from ...ops.lod_levels import levels_of
from ...registry import Dense
from .copy_by_plan import gather_by_plan, scatter_by_plan
from .copy_plan import CopyPlan


@ops.split_lod_tensor.kernel("cpu", "cuda")
def split_lod_tensor(on, x: Dense | LoDTensor, mask, /, *, level):
    parts = [gather_by_plan(on, plan) for plan in _plan_split(x, mask, level)]
    return tuple(parts) if levels_of(x) else tuple(part.values for part in parts)


@ops.merge_lod_tensor.kernel("cpu", "cuda")
def merge_lod_tensor(on, in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask, /, *, level, out=None):
    made = scatter_by_plan(on, _plan_merge(in_true, in_false, mask, level), out)
    return made if levels_of(in_true) else made.values


def _runs(mask):
    """Find the runs of True, and of False.

    Returns
    -------
    found : int64 array of shape (3, 2, most)
        Starts, stops, and starts where the runs of a kind are joined: a row for runs of True, and one for False.
    runs, totals : pairs of int
        Numbers of runs, and of the elements in them.
    """
    found = np.empty((3, 2, len(mask) // 2 + 1), np.int64)
    *runs, trues, falses = runs_of.code(mask, *found)
    return found, runs, (trues, falses)


def _plan_split(x, mask, level):
    """A plan per part; an array has one level, of all its rows."""
    mask, level = ops.prepare_split(x, mask, level)
    values, levels = values_of(x), levels_of(x)
    found, runs, totals = _runs(mask)
    plans = []
    for k, total in enumerate(totals):
        starts, stops, to = found[:, k, : runs[k]]
        made = _masked_levels(levels, ~mask if k else mask, level) if level else []
        for offsets in levels[level:]:
            cut = np.empty(total + 1, np.int64)
            total = cut_level.code(offsets, starts, stops, to, cut)
            made.append(freeze(cut))
        plans.append((values, tuple(made) or (freeze(np.array([0, total])),), CopyPlan(starts, stops, to)))
    return plans


def _masked_levels(levels, mask, level):
    """The levels above ``level``, of the sequences where a mask is True."""
    before = lengths_to_offsets(mask.astype(np.int64))
    return [*levels[: level - 1], freeze(before[levels[level - 1]])]


def _plan_merge(in_true, in_false, mask, level):
    """The plan of both inputs; arrays have one level, of all their rows."""
    (mask, level), inputs = ops.prepare_merge(in_true, in_false, mask, level), (in_true, in_false)
    (to, ends, starts), runs, _ = _runs(mask)  # joined in the inputs
    stops, total, side = starts + (ends - to), len(mask), int(len(mask) > 0 and not mask.item(0))
    upper, other = map(levels_of, inputs)
    for of_level in zip(upper, other, strict=True):
        total_size([offsets[-1] for offsets in of_level], "the lengths of in_true and in_false")
    levels = [*upper[: level - 1], freeze(upper[level - 1] + other[level - 1])] if level else []
    for offsets in zip(upper[level:], other[level:], strict=True):
        merged = np.empty(total + 1, np.int64)
        total = merge_level.code(*offsets, side, sum(runs), starts, stops, to, merged)
        levels.append(freeze(merged))
    plans = [CopyPlan(starts[k, :n], stops[k, :n], to[k, :n]) for k, n in enumerate(runs)]
    return [values_of(x) for x in inputs], tuple(levels) or (freeze(np.array([0, total])),), plans
