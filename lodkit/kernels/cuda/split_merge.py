"""CUDA kernels of lodkit/ops/split_merge.py. Structure is worked out on the CPU, where a LoDTensor has its own."""

from __future__ import annotations

from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor
from ...ops import split_merge as ops
from ...ops.lod_levels import levels_of
from ...registry import Dense
from ..common.level_plans import plan_merge, plan_split
from .primitives.copy_by_plan import placed


@ops.split_lod_tensor.kernel("cuda")
def split(x: Dense | LoDTensor, mask: Dense, /, *, level):
    parts = [placed(plan) for plan in plan_split(x, mask, level, view)]
    return tuple(parts) if levels_of(x) else tuple(part.values for part in parts)


@ops.merge_lod_tensor.kernel("cuda")
def merge(in_true: Dense | LoDTensor, in_false: Dense | LoDTensor, mask: Dense, /, *, level, out=None):
    made = placed(plan_merge(in_true, in_false, mask, level, view), out)
    return made if levels_of(in_true) else made.values
