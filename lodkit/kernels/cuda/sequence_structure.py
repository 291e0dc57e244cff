"""CUDA part of lodkit/ops/sequence_structure.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import convert, elementwise, vector
from ..common.copy_plan import plan_joins
from .columns import join_columns, split_columns
from .conversions import segment_numbers
from .primitives.copy_runs import move_runs
from .primitives.gather import take_rows
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of


def repeat_rows(data, offsets, out=None):
    """Repeat row s of ``data`` for every row of segment s."""
    return take_rows(data, segment_numbers(offsets_like(data, offsets)), out)


@elementwise
def _reverse_rows(i, offsets, segments, rows):
    s = segment_of(offsets, segments, i)
    rows[i] = vector.number(offsets, s) + vector.number(offsets, s + 1) - 1 - i


def reversed_rows(values, offsets):
    """The numbers of all rows, those of each sequence from its last to its first."""
    offsets, rows = offsets_like(values, offsets), values.like((len(values),), np.int64)
    return _reverse_rows.into(rows, offsets.offsets, len(offsets))


def join_rows(xs, bounds, offsets, out):
    """Join the segments of several arrays of rows, which are between ``bounds``, segment by segment."""
    for x, plan in zip(xs, plan_joins(bounds), strict=True):
        move_runs(x, plan, out)


def _widths(xs, axis):
    return [math.prod(x.shape[axis:]) for x in xs]


def join(xs, axis, out):
    """Put arrays side by side along an axis."""
    join_columns(xs, _widths(xs, axis), out)


def split(grad, xs, axis, dtype):
    """Cut a gradient along an axis into new arrays like these."""
    return split_columns(convert(grad, dtype), xs, _widths(xs, axis))
