"""CPU kernels of lodkit/ops/split_merge.py: runs of rows, copied."""

from __future__ import annotations

import numpy as np

from ...arrays import check_values
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import split_merge as ops
from ...ops.lod_levels import levels_of
from ...registry import Dense
from ..common.level_plans import plan_merge, plan_split
from .primitives.copy_by_plan import placed


@ops.split_lod_tensor.kernel("cpu")
def split(x: Dense | LoDTensor, mask: Dense, /, *, level):
    check_values(values_of(x).dtype, "split_lod_tensor")
    parts = [placed(plan) for plan in plan_split(x, mask, level, np.asarray)]
    return tuple(parts) if levels_of(x) else tuple(part.values for part in parts)


@ops.merge_lod_tensor.kernel("cpu")
def merge(in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask: Dense, /, *, level, out=None):
    made = placed(plan_merge(in_true, in_false, mask, level, np.asarray), out)
    return made if levels_of(in_true) else made.values
