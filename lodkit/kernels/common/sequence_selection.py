"""Kernels of lodkit/ops/sequence_selection.py: plans in front of the shared copies of rows.

Plans read the numbers that select rows on the CPU.
"""

from __future__ import annotations

import numpy as np

from ...arrays import check_values
from ...lod import LoDTensor, freeze
from ...lod.offsets import segment_numbers, sort_by_segment
from ...lod.selection import part_numbers, range_bounds
from ...ops import sequence_selection as ops
from ...ops.shared import sequences as checks
from ...registry import Dense
from .copy_by_plan import gather_by_plan, gather_grad
from .copy_plan import plan_parts, plan_ranges


def _plan_slice(on, x, starts, stops, by, wrap, clip, level):
    check_values(x.values.dtype, "sequence_slice")
    level = x._level(level)
    starts, stops, ranges = checks.check_slices(x, on.structure(starts), on.structure(stops), level)
    bounds, above = x._lod[level], x._lod[:level]
    first, last, cut, bad = range_bounds(bounds, ranges, starts, stops, by == "lengths", wrap, clip)
    if bad >= 0:
        i = bad if ranges is None else int(np.searchsorted(ranges, bad, "right")) - 1
        given = (None if numbers is None else int(numbers[bad]) for numbers in (starts, stops))
        checks.range_of(i, int(bounds[i + 1] - bounds[i]), *given, by, wrap, clip)
    if ranges is not None:
        above = (*above, ranges)
    return plan_ranges(x, level + 1, first, last, (*above, freeze(cut)))


Numbers = Dense | LoDTensor | None


@ops.sequence_slice.kernel("cpu", "cuda")
def sequence_slice(on, x: LoDTensor, starts: Numbers, stops: Numbers, /, *, by, wrap, clip, level, out=None):
    return gather_by_plan(on, _plan_slice(on, x, starts, stops, by, wrap, clip, level), out)


@ops.sequence_slice_grad.kernel("cpu", "cuda")
def sequence_slice_grad(on, x: LoDTensor, grad, starts: Numbers, stops: Numbers, /, *, by, wrap, clip, level):
    return gather_grad(on, _plan_slice(on, x, starts, stops, by, wrap, clip, level), grad)


def _plan_select(on, x, selected, level):
    check_values(x.values.dtype, "sequence_select")
    level = x._level(level)
    numbers, offsets = checks.check_selected(x, on.structure(selected), level)
    chosen, bad = part_numbers(x._lod[level], offsets, numbers)
    if bad >= 0:
        parent = int(np.searchsorted(offsets, bad, "right")) - 1
        count = int(x._lod[level][parent + 1] - x._lod[level][parent])
        raise checks.unselectable(int(numbers[bad]), parent, bad - int(offsets[parent]), count, level)
    return plan_parts(x, level + 1, chosen, (*x._lod[:level], offsets))


@ops.sequence_select.kernel("cpu", "cuda")
def sequence_select(on, x: LoDTensor, selected: LoDTensor, /, *, level, out=None):
    return gather_by_plan(on, _plan_select(on, x, selected, level), out)


@ops.sequence_select_grad.kernel("cpu", "cuda")
def sequence_select_grad(on, x: LoDTensor, selected: LoDTensor, grad, /, *, level):
    return gather_grad(on, _plan_select(on, x, selected, level), grad)


def _plan_sort(on, x, keys, descending, level):
    check_values(x.values.dtype, "sequence_sort")
    depth = 0 if level is None else x._level(level) + 1
    keys = checks.check_sort_keys(x, on.structure(keys), level, descending)
    order = np.argsort(_ascending_keys(keys) if descending else keys, kind="stable")
    if level is not None:
        parents = segment_numbers(x._lod[depth - 1])
        order = order[sort_by_segment(parents[order], checks.count_parts(x, depth - 1))[1]]
    return plan_parts(x, depth, order, x._lod[:depth])


def _ascending_keys(keys):
    """Keys whose ascending order is the descending one of ``keys``; NaN stays last, integers do not overflow."""
    return -keys if keys.dtype.kind == "f" else ~keys


@ops.sequence_sort.kernel("cpu", "cuda")
def sequence_sort(on, x: LoDTensor, keys: Dense | LoDTensor, /, *, descending, level, out=None):
    return gather_by_plan(on, _plan_sort(on, x, keys, descending, level), out)


@ops.sequence_sort_grad.kernel("cpu", "cuda")
def sequence_sort_grad(on, x: LoDTensor, keys: Dense | LoDTensor, grad, /, *, descending, level):
    return gather_grad(on, _plan_sort(on, x, keys, descending, level), grad)
