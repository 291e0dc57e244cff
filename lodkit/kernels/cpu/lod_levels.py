"""CPU kernels of lodkit/ops/lod_levels.py: rows stay where they are, under other levels."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import lod_levels as ops
from ...registry import Dense
from ..common.level_plans import reset_levels, reshaped_levels


def _under(x, levels):
    """The rows of x under other levels: another array of the same memory, as a Tape tells variables apart by it."""
    return LoDTensor._wrap(values_of(x)[:], levels)


@ops.lod_reset.kernel("cpu")
def reset(x: Dense | LoDTensor, y: Dense | LoDTensor | None = None, /, *, target_lod, append):
    return _under(x, reset_levels(x, y, target_lod, append))


@ops.lod_append.kernel("cpu")
def append(x: Dense | LoDTensor, lengths: Dense, /):
    return _under(x, reset_levels(x, lengths, None, True))


@ops.sequence_reshape.kernel("cpu")
def reshape(x: LoDTensor, /, *, new_dim):
    levels = reshaped_levels(x, new_dim)
    values = np.ascontiguousarray(x.values, native(x.values.dtype))
    return LoDTensor._wrap(values.reshape(levels[-1].item(-1), new_dim), levels)
