"""CUDA kernels of lodkit/ops/features.py. Structure is worked out on the CPU, where a LoDTensor has its own."""

from __future__ import annotations

from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor
from ...ops import features as ops
from ...registry import Dense
from ..common.copy_plan import plan_merge, plan_pack, plan_select, plan_stack
from .primitives.copy_by_plan import placed, placed_back


@ops.merge_features.kernel("cuda")
def merge(*xs: LoDTensor, out=None):
    return placed(plan_merge(xs, view), out)


@ops.merge_features_grad.kernel("cuda")
def merge_grad(grad: Dense, /, *xs: LoDTensor):
    return placed_back(plan_merge(xs, view), grad)


@ops.stack_features.kernel("cuda")
def stack_rows(*xs: Dense, presence, out=None):
    return placed(plan_stack(xs, presence, view), out)


@ops.stack_features.kernel("cuda")
def stack_lists(*xs: LoDTensor, presence, out=None):
    return placed(plan_stack(xs, presence, view), out)


@ops.stack_features_grad.kernel("cuda")
def stack_rows_grad(grad: Dense, /, *xs: Dense, presence):
    return placed_back(plan_stack(xs, presence, view), grad)


@ops.stack_features_grad.kernel("cuda")
def stack_lists_grad(grad: Dense, /, *xs: LoDTensor, presence):
    return placed_back(plan_stack(xs, presence, view), grad)


@ops.pack_features.kernel("cuda")
def pack(x: Dense, /, *, presence, out=None):
    return placed(plan_pack(x, presence, view), out)


@ops.pack_features_grad.kernel("cuda")
def pack_grad(x: Dense, grad: Dense, /, *, presence):
    return placed_back(plan_pack(x, presence, view), grad)[0].reshape(tuple(x.shape))


@ops.select_features.kernel("cuda")
def select(values: LoDTensor, /, *, keys, feature_keys, out=None):
    return placed(plan_select(values, keys, feature_keys, view), out)


@ops.select_features_grad.kernel("cuda")
def select_grad(values: LoDTensor, grad: Dense, /, *, keys, feature_keys):
    return placed_back(plan_select(values, keys, feature_keys, view), grad)[0]
