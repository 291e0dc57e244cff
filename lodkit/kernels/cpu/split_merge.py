"""CPU kernels of lodkit/ops/split_merge.py for a few sequences: plan and copy in one compiled call."""

from __future__ import annotations

import numpy as np

from ...jit import Bytes, Flags, Numbers, compile_typed
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import as_bytes, copy_sequence
from ...ops import split_merge as ops
from ..common import split_merge as common
from .primitives import device
from .primitives.few import INT64, are_few, is_few, is_vector

_BOOL = np.dtype(bool)


@compile_typed
def _split(mask: Flags, offsets: Numbers, source: Bytes, rows: int, out: Bytes, cuts: Numbers):
    """Copy the sequences where a mask is True, then the others; ``cuts`` are the offsets of both. Returns how many are
    True.
    """
    count, size = len(mask), len(out) // rows
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
def split_lod_tensor(x: LoDTensor, mask, /, *, level):
    # Read once: another thread may set other values and levels.
    values, levels = x._values, x._lod
    if not (is_few(values, levels, level) and is_vector(mask, levels[0].size - 1, _BOOL)):
        return common.split_lod_tensor(device, x, mask, level=level)
    count, dtype = mask.size, values.dtype
    out, cuts = np.empty(values.shape, dtype), np.empty(2 * count + 2, INT64)
    trues = _split.code(mask, levels[0], as_bytes(values, dtype), len(values), as_bytes(out, dtype), cuts)
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
    return True


@ops.merge_lod_tensor.kernel("cpu")
def merge_lod_tensor(in_true: LoDTensor, in_false: LoDTensor, mask, /, *, level, out=None):
    values, levels, others, lower = in_true._values, in_true._lod, in_false._values, in_false._lod
    few = out is None and are_few(values, levels, others, lower, level)
    if few and is_vector(mask, levels[0].size + lower[0].size - 2, _BOOL):
        dtype, rows, cut = values.dtype, len(values) + len(others), np.empty(mask.size + 1, INT64)
        made = np.empty((rows, *values.shape[1:]), dtype)
        parts = levels[0], lower[0], as_bytes(values, dtype), as_bytes(others, dtype)
        if _merge.code(mask, *parts, rows, as_bytes(made, dtype), cut):
            return LoDTensor._wrap(made, (freeze(cut),))
    return common.merge_lod_tensor(device, in_true, in_false, mask, level=level, out=out)
