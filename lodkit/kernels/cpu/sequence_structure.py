"""CPU kernels of lodkit/ops/sequence_structure.py: plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_values
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import sequence_structure as ops
from ...ops.shared.sequences import check_joined, check_repeats, is_ragged, joined_shape
from ...registry import Dense
from ..common.sequence_plans import plan_concat, plan_expand, plan_reverse, repeats
from .primitives.copy_by_plan import moved, moved_back, placed, placed_back
from .primitives.gather import repeat_rows
from .primitives.reduce import reduce_into


@ops.sequence_expand.kernel("cpu")
def expand(x: Dense | LoDTensor, y: LoDTensor, /, *, ref_level, out=None):
    if is_ragged(x):
        return moved(plan_expand(x, y, ref_level, np.asarray), out)
    offsets, x = repeats(x, y, ref_level), values_of(x)
    check_values(x.dtype, "sequence_expand")
    return repeat_rows(x, offsets, out)


@ops.sequence_expand_grad.kernel("cpu")
def expand_grad(x: Dense | LoDTensor, y: LoDTensor, grad: Dense, /, *, ref_level):
    if is_ragged(x):
        return moved_back(plan_expand(x, y, ref_level, np.asarray), grad)
    offsets, x = repeats(x, y, ref_level), values_of(x)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, (offsets[-1], *x.shape[1:]))
    return reduce_into(grad.astype(dtype, copy=False), None, None, None, offsets, "sum", 0.0)


@ops.sequence_expand_as.kernel("cpu")
def expand_as(x: Dense | LoDTensor, y: LoDTensor, /, *, level, out=None):
    x, offsets = values_of(x), y.row_offsets(level)
    check_values(x.dtype, "sequence_expand_as")
    check_repeats("sequence_expand_as", x, y, offsets, f"level {level}")
    return LoDTensor._wrap(repeat_rows(x, offsets, out), y._lod)


@ops.sequence_reverse.kernel("cpu")
def reverse(x: LoDTensor, /, *, level, out=None):
    return moved(plan_reverse(x, level, np.asarray), out)


@ops.sequence_concat.kernel("cpu")
def concat(*xs: LoDTensor, axis, level, out=None):
    axis, level = check_joined(xs, axis, level)
    dtype = check_values(xs[0].dtype, "sequence_concat")
    if not axis:
        return placed(plan_concat(xs, level, np.asarray), out)
    out = arrays.output(joined_shape(xs, axis), dtype, out)
    return LoDTensor._wrap(np.concatenate([x.values for x in xs], axis, out=out), xs[0]._lod)


@ops.sequence_concat_grad.kernel("cpu")
def concat_grad(grad: Dense, /, *xs: LoDTensor, axis, level):
    axis, level = check_joined(xs, axis, level)
    if not axis:
        return placed_back(plan_concat(xs, level, np.asarray), grad)
    dtype = check_values(xs[0].dtype, "the gradient", floating=True)
    check_gradient(grad, joined_shape(xs, axis))
    ends = np.cumsum([x.shape[axis] for x in xs])
    return tuple(part.astype(dtype, order="C") for part in np.split(grad, ends[:-1], axis))
