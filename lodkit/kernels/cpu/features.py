"""CPU kernels of lodkit/ops/features.py: ranges of rows are copied, and for a gradient copied back."""

from __future__ import annotations

import numpy as np

from ...lod.lod_tensor import LoDTensor
from ...ops import features as ops
from ...registry import Dense
from ..common.copy_plan import plan_merge, plan_pack, plan_select, plan_stack
from .primitives.copy_by_plan import placed, placed_back


@ops.merge_features.kernel("cpu")
def merge(*xs: LoDTensor, out=None):
    return placed(plan_merge(xs, np.asarray), out)


@ops.merge_features_grad.kernel("cpu")
def merge_grad(grad: Dense, /, *xs: LoDTensor):
    return placed_back(plan_merge(xs, np.asarray), grad)


@ops.stack_features.kernel("cpu")
def stack_rows(*xs: Dense, presence, out=None):
    return placed(plan_stack(xs, presence, np.asarray), out)


@ops.stack_features.kernel("cpu")
def stack_lists(*xs: LoDTensor, presence, out=None):
    return placed(plan_stack(xs, presence, np.asarray), out)


@ops.stack_features_grad.kernel("cpu")
def stack_rows_grad(grad: Dense, /, *xs: Dense, presence):
    return placed_back(plan_stack(xs, presence, np.asarray), grad)


@ops.stack_features_grad.kernel("cpu")
def stack_lists_grad(grad: Dense, /, *xs: LoDTensor, presence):
    return placed_back(plan_stack(xs, presence, np.asarray), grad)


@ops.pack_features.kernel("cpu")
def pack(x: Dense, /, *, presence, out=None):
    return placed(plan_pack(x, presence, np.asarray), out)


@ops.pack_features_grad.kernel("cpu")
def pack_grad(x: Dense, grad: Dense, /, *, presence):
    return placed_back(plan_pack(x, presence, np.asarray), grad)[0].reshape(x.shape)


@ops.select_features.kernel("cpu")
def select(values: LoDTensor, /, *, keys, feature_keys, out=None):
    return placed(plan_select(values, keys, feature_keys, np.asarray), out)


@ops.select_features_grad.kernel("cpu")
def select_grad(values: LoDTensor, grad: Dense, /, *, keys, feature_keys):
    return placed_back(plan_select(values, keys, feature_keys, np.asarray), grad)[0]
