"""CPU part of lodkit/ops/sequence_padding.py, and a kernel of a few sequences."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...jit import Bytes, Numbers, compile_typed, settings, simd
from ...lod import LoDTensor, freeze
from ...lod.copy_runs import FEW_MULTIPLE, as_bytes
from ...ops import sequence_padding as ops
from ...ops.sequence_padding import pad_as
from ...registry import FewRows, FewSequences


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a number, or a row for each side."""
    if pad.ndim == 0 and pad.dtype.kind in "fiub" and not any(pad.tobytes()):
        # The usual pad is 0, a number of every type.
        return 0
    pad = pad_as(pad, dtype)
    return np.stack([pad, pad]) if pad.ndim else pad[()]


@compile_typed
def _fill_slots(source: Bytes, offsets: Numbers, lengths: Numbers, width: int, out: Bytes):
    """Copy the first ``lengths[s]`` rows of each sequence to its slot of ``width`` rows, and zeros behind them."""
    slot = len(out) // len(lengths)
    size = slot // width
    for s in range(len(lengths)):
        taken = lengths[s] * size
        simd.copy(out, s * slot, source, offsets[s] * size, taken)
        out[s * slot + taken : (s + 1) * slot] = 0


@ops.sequence_pad.kernel("cpu")
def pad_few_sequences(x: FewSequences, pad_value: None, /, *, max_length, truncate, side: Literal["right"]):
    (values, offsets), dtype = x, x[0].dtype
    lengths, width = ops.room_for(offsets, max_length, truncate)
    if not 0 < lengths.size * width * values.size < FEW_MULTIPLE * settings.parallel_from * len(values):
        return NotImplemented
    out = np.empty((lengths.size, width, *values.shape[1:]), dtype)
    _fill_slots.code(as_bytes(values, dtype), offsets, lengths, width, as_bytes(out, dtype))
    return out, lengths


@compile_typed
def _sum_fitting(lengths: Numbers, most: int, offsets: Numbers):
    """Fill in offsets of lengths that are all within ``most``. Returns the last one, or -1."""
    offsets[0] = 0
    for s in range(len(lengths)):
        # Read once: another thread may write the length.
        length = lengths[s]
        if not 0 <= length <= most:
            return -1
        offsets[s + 1] = offsets[s] + length
    return offsets[-1]


@compile_typed
def _cut(source: Bytes, offsets: Numbers, out: Bytes):
    """Copy the first rows of each slot of ``source``."""
    slot, size = len(source) // (len(offsets) - 1), len(out) // offsets[-1]
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        simd.copy(out, start * size, source, s * slot, (stop - start) * size)


@ops.sequence_unpad.kernel("cpu")
def unpad_few_sequences(x: FewRows, lengths: Numbers, /, *, side: Literal["right"]):
    shape, dtype = x.shape, x.dtype
    if len(shape) < 2 or lengths.size != shape[0]:
        return NotImplemented
    offsets = np.empty(shape[0] + 1, np.int64)
    rows = _sum_fitting.code(lengths, shape[1], offsets)
    if rows <= 0:
        return NotImplemented
    out = np.empty((rows, *shape[2:]), dtype)
    _cut.code(as_bytes(x, dtype), offsets, as_bytes(out, dtype))
    return LoDTensor._wrap(out, (freeze(offsets),))
