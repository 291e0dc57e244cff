"""CPU part of lodkit/ops/sequence_structure.py, and kernels of a few sequences."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from ...jit import Bytes, Numbers, compile_typed, settings
from ...jit.search import plus
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import FEW_MULTIPLE, append_runs, as_bytes, copy_sequence, move_runs
from ...lod.offsets import reversed_numbers
from ...ops import sequence_structure as ops
from ...registry import FewSequences
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


@compile_typed
def _join(first: Bytes, upper: Numbers, second: Bytes, lower: Numbers, rows: int, out: Bytes, offsets: Numbers):
    """Join the sequences of two tensors in pairs, and fill in their offsets; False if there are no pairs."""
    size = len(out) // rows
    if len(upper) != len(lower):
        return False
    offsets[0] = 0
    for s in range(len(offsets) - 1):
        row = copy_sequence(first, upper, s, size, out, offsets[s])
        offsets[s + 1] = copy_sequence(second, lower, s, size, out, row)
    return True


@ops.sequence_concat.kernel("cpu")
def join_few_sequences(x: FewSequences, y: FewSequences, /, *, axis: Literal[0], level: Literal[-1, 0]):
    (values, upper), (others, lower) = x, y
    dtype, rows, offsets = values.dtype, len(values) + len(others), np.empty(upper.size, np.int64)
    out = np.empty((rows, *values.shape[1:]), dtype)
    parts = as_bytes(values, dtype), upper, as_bytes(others, dtype), lower
    if not _join.code(*parts, rows, as_bytes(out, dtype), offsets):
        return NotImplemented
    return LoDTensor._wrap(out, (freeze(offsets),))


@compile_typed
def _repeated_offsets(offsets: Numbers, counts: Numbers, cut: Numbers):
    """Fill in the offsets of sequences that are repeated: sequence s ``counts[s + 1] - counts[s]`` times.

    Returns the last offset; -1 if it does not fit int64, or there are other counts than sequences.
    """
    cut[0] = 0
    if len(offsets) != len(counts):
        return -1
    for s in range(len(offsets) - 1):
        for k in range(counts[s], counts[s + 1]):
            cut[k + 1] = plus(cut[k], offsets[s + 1] - offsets[s])
            if cut[k + 1] < 0:
                return -1
    return cut[-1]


@compile_typed
def _repeat(source: Bytes, offsets: Numbers, counts: Numbers, cut: Numbers, out: Bytes):
    """Copy each sequence as often as ``counts`` say, to the offsets ``cut``."""
    size = len(out) // cut[-1]
    for s in range(len(offsets) - 1):
        for k in range(counts[s], counts[s + 1]):
            copy_sequence(source, offsets, s, size, out, cut[k])


@ops.sequence_expand.kernel("cpu")
def repeat_few_sequences(x: FewSequences, y: LoDTensor, /, *, ref_level):
    (values, offsets), counts = x, y._lod[y._level(ref_level)]
    total, dtype, most = counts.item(-1), values.dtype, FEW_MULTIPLE * settings.parallel_from
    if total >= most:
        return NotImplemented
    cut = np.empty(total + 1, np.int64)
    rows = _repeated_offsets.code(offsets, counts, cut)
    if not 0 < rows * values.size < most * len(values):
        return NotImplemented
    out = np.empty((rows, *values.shape[1:]), dtype)
    _repeat.code(as_bytes(values, dtype), offsets, counts, cut, as_bytes(out, dtype))
    return LoDTensor._wrap(out, (freeze(cut),))
