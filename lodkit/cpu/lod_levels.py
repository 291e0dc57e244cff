"""CPU kernels of lodkit/ops/lod_levels.py: rows stay where they are, under other levels."""

from __future__ import annotations

import numpy as np

from .._level_plans import reset_levels, reshaped_levels
from ..arrays import native
from ..lod_tensor import LoDTensor, values_of
from ..ops import lod_levels as ops
from ..registry import Dense


@ops.lod_reset.kernel("cpu")
def reset(x: Dense | LoDTensor, y: Dense | LoDTensor | None = None, /, *, target_lod, append):
    # A view of the rows, not the array itself: a Tape tells variables apart by the array.
    return LoDTensor._wrap(values_of(x)[:], reset_levels(x, y, target_lod, append))


@ops.lod_append.kernel("cpu")
def append(x: Dense | LoDTensor, lengths: Dense, /):
    return LoDTensor._wrap(values_of(x)[:], reset_levels(x, lengths, None, True))


@ops.sequence_reshape.kernel("cpu")
def reshape(x: LoDTensor, /, *, new_dim):
    levels = reshaped_levels(x, new_dim)
    values = np.ascontiguousarray(x.values, native(x.values.dtype))
    return LoDTensor._wrap(values.reshape(levels[-1].item(-1), new_dim), levels)
