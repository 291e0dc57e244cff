"""CPU part of lodkit/ops/sequence_structure.py, and kernels of a few sequences."""

from __future__ import annotations

import itertools

import numpy as np

from ...jit import Bytes, Numbers, compile_typed, settings
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import append_runs, as_bytes, copy_sequence, move_runs
from ...lod.offsets import reversed_numbers, segment_numbers
from ...lod.selection import take_few
from ...ops import sequence_structure as ops
from ..common import sequence_structure as common
from ..common.copy_plan import plan_joins
from .primitives import device
from .primitives.few import INT64, are_few, is_few
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


@compile_typed
def _join(first: Bytes, upper: Numbers, second: Bytes, lower: Numbers, rows: int, out: Bytes, offsets: Numbers):
    """Join the sequences of two tensors in pairs, and fill in their offsets."""
    size = len(out) // rows
    offsets[0] = 0
    for s in range(len(offsets) - 1):
        row = copy_sequence(first, upper, s, size, out, offsets[s])
        offsets[s + 1] = copy_sequence(second, lower, s, size, out, row)


@ops.sequence_concat.kernel("cpu")
def sequence_concat(*xs: LoDTensor, axis, level, out=None):
    if len(xs) == 2 and axis == 0 and out is None:
        (first, upper), (second, lower) = ((x._values, x._lod) for x in xs)
        if are_few(first, upper, second, lower, level) and upper[0].size == lower[0].size:
            dtype, rows, offsets = first.dtype, len(first) + len(second), np.empty(upper[0].size, INT64)
            made = np.empty((rows, *first.shape[1:]), dtype)
            parts = as_bytes(first, dtype), upper[0], as_bytes(second, dtype), lower[0]
            _join.code(*parts, rows, as_bytes(made, dtype), offsets)
            return LoDTensor._wrap(made, (freeze(offsets),))
    return common.sequence_concat(device, *xs, axis=axis, level=level, out=out)


@ops.sequence_expand.kernel("cpu")
def sequence_expand(x: LoDTensor, y: LoDTensor, /, *, ref_level, out=None):
    if out is None and is_few(x._values, x._lod):
        few = take_few(x, segment_numbers(ops.prepare_expand(x, y, ref_level)[0]))
        if few is not None:
            return few
    return common.sequence_expand(device, x, y, ref_level=ref_level, out=out)
