"""Kernels of lodkit/ops/features.py: plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...arrays.sizes import size_product
from ...lod import LoDTensor, freeze
from ...lod.key_index import KeyIndex
from ...lod.offsets import lengths_to_offsets
from ...ops import features as ops
from ...ops.shared.features import check_features
from ...registry import Dense
from .copy_by_plan import scatter_by_plan, scatter_grad
from .copy_plan import CopyPlan, plan_merge


def _merge(xs):
    return check_features("merge_features", xs), *plan_merge([x._lod for x in xs])


@ops.merge_features.kernel("cpu", "cuda")
def merge_features(on, *xs: LoDTensor, out=None):
    return scatter_by_plan(on, _merge(xs), out)


@ops.merge_features_grad.kernel("cpu", "cuda")
def merge_features_grad(on, grad, /, *xs: LoDTensor):
    return scatter_grad(on, _merge(xs), grad)


def _stack(xs, presence):
    values, keep = ops.prepare_stack(xs, presence)
    top = np.arange(keep.shape[1] + 1)
    return values, *plan_merge([(top, *(x._lod if isinstance(x, LoDTensor) else ())) for x in xs], keep)


@ops.stack_features.kernel("cpu", "cuda")
def stack_rows(on, *xs: Dense, presence, out=None):
    return scatter_by_plan(on, _stack(xs, presence), out)


@ops.stack_features.kernel("cpu", "cuda")
def stack_sequences(on, *xs: LoDTensor, presence, out=None):
    return scatter_by_plan(on, _stack(xs, presence), out)


@ops.stack_features_grad.kernel("cpu", "cuda")
def stack_rows_grad(on, grad, /, *xs: Dense, presence):
    return scatter_grad(on, _stack(xs, presence), grad)


@ops.stack_features_grad.kernel("cpu", "cuda")
def stack_sequences_grad(on, grad, /, *xs: LoDTensor, presence):
    return scatter_grad(on, _stack(xs, presence), grad)


def _pack(x, presence):
    mask = ops.prepare_pack(x, presence)
    starts = np.flatnonzero(mask)
    level = freeze(lengths_to_offsets(np.count_nonzero(mask, axis=1)))
    plan = CopyPlan(starts, starts + 1, np.arange(len(starts)))
    return [x.reshape(mask.size, *x.shape[2:])], (level,), [plan]


@ops.pack_features.kernel("cpu", "cuda")
def pack_features(on, x, /, *, presence, out=None):
    return scatter_by_plan(on, _pack(x, presence), out)


@ops.pack_features_grad.kernel("cpu", "cuda")
def pack_features_grad(on, x, grad, /, *, presence):
    return scatter_grad(on, _pack(x, presence), grad)[0].reshape(*x.shape)


def _select(values, keys, feature_keys):
    """The index of the entries, the numbers of keys there, and the levels of the result."""
    index, feature_keys = ops.prepare_select(values, keys, feature_keys)
    if type(index) is not KeyIndex:
        # A private copy: another thread may write to the keys meanwhile.
        index = KeyIndex(index.copy(), values._lod)
    examples, feature_keys = len(values), feature_keys.tolist()
    size_product((len(feature_keys), examples), "feature_keys * examples")
    numbers, offsets = index.select(feature_keys)
    return index, numbers, (freeze(np.arange(len(feature_keys) + 1) * examples), freeze(offsets))


@ops.select_features.kernel("cpu", "cuda")
def select_features(on, values: LoDTensor, /, *, keys, feature_keys, out=None):
    index, numbers, levels = _select(values, keys, feature_keys)
    rows = values.values
    out = on.output((levels[-1].item(-1), *rows.shape[1:]), native(rows.dtype), out, rows)
    on.features.copy_rows(index, numbers, levels[-1], rows, out)
    return LoDTensor._wrap(out, levels)


@ops.select_features_grad.kernel("cpu", "cuda")
def select_features_grad(on, values: LoDTensor, grad, /, *, keys, feature_keys):
    index, numbers, levels = _select(values, keys, feature_keys)
    return scatter_grad(on, ([values.values], levels, [CopyPlan(*index.list_runs(numbers))]), grad)[0]
