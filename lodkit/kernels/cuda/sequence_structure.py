"""CUDA kernels of lodkit/ops/sequence_structure.py: plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...lod.lod_tensor import LoDTensor, values_of
from ...ops import sequence_structure as ops
from ...ops.shared.sequences import check_joined, check_repeats, is_ragged, joined_shape, widths_of
from ...registry import Dense
from ..common.sequence_plans import plan_concat, plan_expand, plan_reverse, repeats
from .columns import join_columns, split_columns
from .conversions import segment_numbers
from .primitives.copy_by_plan import moved, moved_back, placed, placed_back, taken
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_into
from .primitives.row_kernels import segment_of


@cuda.jit
def _reversed(offsets, segments, n, rows):
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, segments, i)
        rows[i] = vector.number(offsets, s) + vector.number(offsets, s + 1) - 1 - i
        i += cuda.gridsize(1)


@ops.sequence_expand.kernel("cuda")
def expand(x: Dense | LoDTensor, y: LoDTensor, /, *, ref_level, out=None):
    if is_ragged(x):
        return moved(plan_expand(x, y, ref_level, view), out)
    x = view(values_of(x))
    check_values(x.dtype, "sequence_expand")
    return taken(x, segment_numbers(offsets_like(x, repeats(x, y, ref_level))), out)


@ops.sequence_expand_grad.kernel("cuda")
def expand_grad(x: Dense | LoDTensor, y: LoDTensor, grad: Dense, /, *, ref_level):
    if is_ragged(x):
        return moved_back(plan_expand(x, y, ref_level, view), grad)
    x, grad = view(values_of(x)), view(grad)
    offsets = repeats(x, y, ref_level)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_gradient(grad, (int(offsets[-1]), *x.shape[1:]))
    return reduce_into(convert(grad, dtype), None, None, None, offsets_like(x, offsets), "sum", 0.0).array


@ops.sequence_expand_as.kernel("cuda")
def expand_as(x: Dense | LoDTensor, y: LoDTensor, /, *, level, out=None):
    x, offsets = view(values_of(x)), y.row_offsets(level)
    check_values(x.dtype, "sequence_expand_as")
    check_repeats("sequence_expand_as", x, y, offsets, f"level {level}")
    return LoDTensor._wrap(taken(x, segment_numbers(offsets_like(x, offsets)), out), y._lod)


@ops.sequence_reverse.kernel("cuda")
def reverse(x: LoDTensor, /, *, level, out=None):
    if x._level(level) < x.lod_level - 1:
        return moved(plan_reverse(x, level, view), out)
    values = view(x.values)
    check_values(values.dtype, "sequence_reverse")
    offsets, rows = offsets_like(values, x.row_offsets()), values.like((len(values),), np.int64)
    launch(_reversed, len(values), offsets.offsets, len(offsets), len(values), rows)
    return LoDTensor._wrap(taken(values, rows, out), x._lod)


@ops.sequence_concat.kernel("cuda")
def concat(*xs: LoDTensor, axis, level, out=None):
    axis, level = check_joined(xs, axis, level)
    if not axis:
        return placed(plan_concat(xs, level, view), out)
    views = [view(x.values) for x in xs]
    dtype = check_values(views[0].dtype, "sequence_concat")
    out = output(views[0], joined_shape(views, axis), dtype, out)
    join_columns(views, widths_of(views, axis), out)
    return LoDTensor._wrap(out.array, xs[0]._lod)


@ops.sequence_concat_grad.kernel("cuda")
def concat_grad(grad: Dense, /, *xs: LoDTensor, axis, level):
    axis, level = check_joined(xs, axis, level)
    if not axis:
        return placed_back(plan_concat(xs, level, view), grad)
    views, grad = [view(x.values) for x in xs], view(grad)
    dtype = check_values(views[0].dtype, "the gradient", floating=True)
    check_gradient(grad, joined_shape(views, axis))
    return split_columns(convert(grad, dtype), views, widths_of(views, axis))
