"""CPU kernels of lodkit/ops/split_merge.py for a few sequences: plan and copy in one compiled call."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...jit import Bytes, Flags, Numbers, compile_typed
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import as_bytes, copy_sequence
from ...ops import split_merge as ops
from ...registry import FewSequences


@compile_typed
def _split(mask: Flags, offsets: Numbers, source: Bytes, rows: int, out: Bytes, cuts: Numbers):
    """Copy the sequences where a mask is True, then the others; ``cuts`` are the offsets of both.

    Returns how many are True; -1 if the mask has not one element per sequence.
    """
    count, size = len(mask), len(out) // rows
    if count != len(offsets) - 1:
        return -1
    kept, trues, first = cuts[count + 2 :], 0, 0
    for s in range(count):
        # Read once: another thread may write the mask.
        kept[s] = mask[s]
        trues += kept[s]
        first += kept[s] * (offsets[s + 1] - offsets[s])
    cuts[0] = cuts[trues + 1] = 0
    at, others = 0, trues + 1
    for s in range(count):
        k, base = (at, 0) if kept[s] else (others, first)
        cuts[k + 1] = copy_sequence(source, offsets, s, size, out, base + cuts[k]) - base
        at += kept[s]
        others += 1 - kept[s]
    return trues


@ops.split_lod_tensor.kernel("cpu")
def split_few_sequences(x: FewSequences, mask: Flags, /, *, level: Literal[0, -1]):
    (values, offsets), count = x, mask.size
    dtype = values.dtype
    out, cuts = np.empty(values.shape, dtype), np.empty(2 * count + 2, np.int64)
    trues = _split.code(mask, offsets, as_bytes(values, dtype), len(values), as_bytes(out, dtype), cuts)
    if trues < 0:
        return NotImplemented
    rows, cuts = cuts.item(trues), freeze(cuts)
    upper, lower = cuts[: trues + 1], cuts[trues + 1 : count + 2]
    return LoDTensor._wrap(out[:rows], (upper,)), LoDTensor._wrap(out[rows:], (lower,))


@compile_typed
def _merge(
    mask: Flags, upper: Numbers, lower: Numbers, in_true: Bytes, in_false: Bytes, rows: int, out: Bytes, cut: Numbers
):
    """Copy sequences in turn, where the mask is True those of ``in_true``, and fill in their offsets.

    Returns whether the mask marks as many as there are.
    """
    size, t, f = len(out) // rows, 0, 0
    cut[0] = 0
    for s in range(len(mask)):
        # Read once: another thread may write the mask.
        if mask[s]:
            if t + 1 == len(upper):
                return False
            cut[s + 1] = copy_sequence(in_true, upper, t, size, out, cut[s])
            t += 1
        else:
            if f + 1 == len(lower):
                return False
            cut[s + 1] = copy_sequence(in_false, lower, f, size, out, cut[s])
            f += 1
    return t + 1 == len(upper) and f + 1 == len(lower)


@ops.merge_lod_tensor.kernel("cpu")
def merge_few_sequences(in_true: FewSequences, in_false: FewSequences, mask: Flags, /, *, level: Literal[0, -1]):
    (values, upper), (others, lower) = in_true, in_false
    dtype, rows, cut = values.dtype, len(values) + len(others), np.empty(mask.size + 1, np.int64)
    out = np.empty((rows, *values.shape[1:]), dtype)
    parts = upper, lower, as_bytes(values, dtype), as_bytes(others, dtype)
    if not _merge.code(mask, *parts, rows, as_bytes(out, dtype), cut):
        return NotImplemented
    return LoDTensor._wrap(out, (freeze(cut),))
