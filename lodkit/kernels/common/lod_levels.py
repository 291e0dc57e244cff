"""Kernels of lodkit/ops/lod_levels.py: the same rows under other levels."""

from __future__ import annotations

from ...lod import LoDTensor, freeze, values_of
from ...ops import lod_levels as ops
from ...registry import Dense


@ops.lod_reset.kernel("cpu", "cuda")
def lod_reset(on, x: Dense | LoDTensor, y: Dense | LoDTensor | None, /, *, target_lod, append):
    levels = ops.reset_levels(x, y, target_lod, append)
    # Another array of the same memory: a Tape tells variables apart by their arrays.
    return LoDTensor._wrap(values_of(x)[:], levels)


@ops.lod_append.kernel("cpu", "cuda")
def lod_append(on, x: Dense | LoDTensor, lengths, /):
    return lod_reset(on, x, lengths, target_lod=None, append=True)


@ops.sequence_reshape.kernel("cpu", "cuda")
def sequence_reshape(on, x: LoDTensor, /, *, new_dim):
    offsets = freeze(ops.reshaped_offsets(x, new_dim))
    values = on.to_contiguous(x.values).reshape(offsets.item(-1), new_dim)
    return LoDTensor._wrap(values, (*x._lod[:-1], offsets))
