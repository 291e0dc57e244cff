"""Plans of copies: ranges of an input's rows, and the rows of the result that each starts at.

Plans are structure alone, made on the CPU; ``copy_by_plan`` copies the rows, and for a gradient copies them back.
"""

from __future__ import annotations

import typing

import numpy as np

from ...arrays.sizes import total_size
from ...lod import freeze
from ...lod.copy_runs import move_runs
from ...lod.offsets import add_offsets, cut_parts, lengths_to_offsets


class CopyPlan(typing.NamedTuple):
    """Copy rows ``starts[r]:stops[r]`` of an input to the rows from ``to[r]`` on of the result: int64 arrays."""

    starts: np.ndarray
    stops: np.ndarray
    to: np.ndarray

    def inverse(self):
        """The inverse: from the rows of the result to those of the input."""
        return CopyPlan(self.to, self.to + self.stops - self.starts, self.starts)


def plan_merge(inputs, keep=None):
    """Merge example by example.

    Parameters
    ----------
    inputs : list of tuples of int64 arrays
        The levels of each input: relative offsets.
    keep : array of bool, optional
        Per input, which of its examples are present.

    Returns
    -------
    levels : tuple
        Those of the result.
    plans : list of CopyPlan
        One per input.
    """
    bounds = [levels[0] for levels in inputs]
    first, plans = _plan_level(bounds, keep)
    levels = [first]
    for depth in range(1, len(inputs[0])):
        lengths = np.empty(levels[-1][-1], np.int64)
        for offsets, plan in zip(inputs, plans, strict=True):
            move_runs(np.diff(offsets[depth]), plan, lengths)
        levels.append(freeze(lengths_to_offsets(lengths, f"the lengths, at level {depth}, of all xs")))
        bounds = [offsets[depth][b] for offsets, b in zip(inputs, bounds, strict=True)]
        _, plans = _plan_level(bounds, keep)
    return tuple(levels), plans


def _plan_level(bounds, keep):
    """Offsets of the items of each example, over all inputs, and a plan per input."""
    if keep is not None:
        return _plan_kept(bounds, keep)
    return join_levels(bounds), plan_joins(bounds)


def join_levels(bounds):
    """Offsets of the items of each example, over all inputs."""
    both = bounds[0]
    for b in bounds[1:]:
        joined = np.empty(len(both), np.int64)
        if not add_offsets.code(both, b, joined):
            total_size([b[-1] for b in bounds], "the lengths of all xs")
        both = joined
    return freeze(both)


def plan_joins(bounds):
    """A plan per input, whose items of an example follow those of the inputs before it."""
    plans, to = [], bounds[0][:-1]
    for b in bounds[1:]:
        to = to + b[:-1]
    for b in bounds:
        starts, stops = b[:-1], b[1:]
        plans.append(CopyPlan(starts, stops, to))
        to = to + (stops - starts)
    return plans


def _plan_kept(bounds, keep):
    """``_plan_level`` of the examples to ``keep``."""
    counts = np.stack([np.diff(b) for b in bounds], axis=1) * keep.T
    ends = lengths_to_offsets(counts.reshape(-1), "the lengths of all xs")[1:].reshape(counts.shape)
    plans = []
    for f, b in enumerate(bounds):
        some = np.flatnonzero(counts[:, f])
        starts, lengths = b[some], counts[some, f]
        plans.append(CopyPlan(starts, starts + lengths, ends[some, f] - lengths))
    return freeze(np.concatenate([[0], ends[:, -1]])), plans


def plan_ranges(x, depth, starts, stops, above):
    """Plan to take the parts ``starts[k]:stops[k]`` of a depth, one range after another, under the levels ``above``.

    Returns
    -------
    values, levels, plan
        The rows of ``x``, the levels of the result, and the runs of rows to take. A range of rows, below the innermost
        level, is one sequence of the result.
    """
    levels, count = [*above], above[-1].item(-1) if above else len(starts)
    to = above[-1][:-1] if depth == len(x._lod) else None
    for level, offsets in enumerate(x._lod[depth:], depth):
        cut, starts, stops, to = cut_parts(offsets, starts, stops, count, "a selection of x", level)
        levels.append(freeze(cut))
        count = cut.item(-1)
    return x.values, tuple(levels), CopyPlan(starts, stops, to)


def plan_parts(x, depth, numbers, above):
    """Plan to take the parts with these numbers; below the innermost level it has their numbers, no runs."""
    if depth == x.lod_level:
        return x.values, above, numbers
    return plan_ranges(x, depth, numbers, numbers + 1, above)
