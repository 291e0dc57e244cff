"""CPU part of lodkit/ops/sequence_structure.py."""

from __future__ import annotations

import itertools

import numpy as np

from ...jit import settings
from ...lod.copy_runs import append_runs, move_runs
from ...lod.offsets import reversed_numbers
from ..common.copy_plan import plan_joins
from .primitives.gather import repeat_rows as repeat_rows


def reversed_rows(values, offsets):
    """The numbers of all rows, those of each sequence from its last to its first."""
    return reversed_numbers(offsets)


def join_rows(xs, bounds, offsets, out):
    """Join the segments of several arrays of rows, which are between ``bounds``, segment by segment."""
    if out.size < settings.parallel_from:
        append_runs(xs, bounds, offsets, out)
    else:
        for x, plan in zip(xs, plan_joins(bounds), strict=True):
            move_runs(x, plan, out)


def join(xs, axis, out):
    """Put arrays side by side along an axis."""
    np.concatenate(xs, axis, out=out)


def split(grad, xs, axis, dtype):
    """Cut a gradient along an axis into new arrays like these."""
    ends = [*itertools.accumulate(x.shape[axis] for x in xs)]
    return tuple(part.astype(dtype, order="C") for part in np.split(grad, ends[:-1], axis))
