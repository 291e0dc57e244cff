"""CPU kernels of lodkit/ops/lod_levels.py: rows that stay where they are under other levels, or are copied by runs."""

from __future__ import annotations

import numpy as np

from .._level_plans import plan_merge, plan_split, reset_levels, reshaped_levels
from ..arrays import check_values, native
from ..lod_tensor import LoDTensor, values_of
from ..ops import lod_levels as ops
from ..registry import Dense
from ._placed import placed


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


@ops.split_lod_tensor.kernel("cpu")
def split(x: Dense | LoDTensor, mask: Dense, /, *, level):
    check_values(values_of(x).dtype, "split_lod_tensor")
    parts = [placed(plan) for plan in plan_split(x, mask, level, np.asarray)]
    return tuple(parts) if ops.levels_of(x) else tuple(part.values for part in parts)


@ops.merge_lod_tensor.kernel("cpu")
def merge(in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask: Dense, /, *, level, out=None):
    made = placed(plan_merge(in_true, in_false, mask, level, np.asarray), out)
    return made if ops.levels_of(in_true) else made.values
