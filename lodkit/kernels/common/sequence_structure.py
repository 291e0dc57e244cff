"""Kernels of lodkit/ops/sequence_structure.py: plans in front of the shared copies of rows."""

from __future__ import annotations

from ...arrays import check_gradient, check_values
from ...lod import LoDTensor, values_of
from ...lod.offsets import reversed_numbers, segment_numbers
from ...ops import sequence_structure as ops
from ...ops.shared.sequences import is_ragged, prepare_concat
from ...registry import Dense
from .copy_by_plan import gather_by_plan, gather_grad, scatter_by_plan, scatter_grad
from .copy_plan import join_levels, plan_merge, plan_parts


def _plan_expand(x, y, ref_level):
    offsets, _ = ops.prepare_expand(x, y, ref_level)
    return plan_parts(x, 0, segment_numbers(offsets), ())


@ops.sequence_expand.kernel("cpu", "cuda")
def sequence_expand(on, x: Dense | LoDTensor, y: LoDTensor, /, *, ref_level, out=None):
    if is_ragged(x):
        return gather_by_plan(on, _plan_expand(x, y, ref_level), out)
    offsets, _ = ops.prepare_expand(x, y, ref_level)
    return on.sequence_structure.repeat_rows(values_of(x), offsets, out)


@ops.sequence_expand_grad.kernel("cpu", "cuda")
def sequence_expand_grad(on, x: Dense | LoDTensor, y: LoDTensor, grad, /, *, ref_level):
    if is_ragged(x):
        return gather_grad(on, _plan_expand(x, y, ref_level), grad)
    offsets, dtype = ops.prepare_expand(x, y, ref_level, "the gradient", floating=True)
    check_gradient(grad, (offsets.item(-1), *x.shape[1:]))
    grad = grad if grad.dtype == dtype else on.convert(grad, dtype)
    return on.reduce_into(grad, None, None, None, offsets, "sum", 0.0)


@ops.sequence_expand_as.kernel("cpu", "cuda")
def sequence_expand_as(on, x: Dense | LoDTensor, y: LoDTensor, /, *, level, out=None):
    x, offsets = ops.prepare_expand_as(x, y, level)
    return LoDTensor._wrap(on.sequence_structure.repeat_rows(x, offsets, out), y._lod)


@ops.sequence_reverse.kernel("cpu", "cuda")
def sequence_reverse(on, x: LoDTensor, /, *, level, out=None):
    check_values(x.values.dtype, "sequence_reverse")
    depth = x._level(level) + 1
    if depth < x.lod_level:
        return gather_by_plan(on, plan_parts(x, depth, reversed_numbers(x._lod[depth - 1]), x._lod[:depth]), out)
    rows = on.sequence_structure.reversed_rows(x.values, x._lod[-1])
    return LoDTensor._wrap(on.take_rows(x.values, rows, out), x._lod)


def _plan_concat(xs, level):
    levels, plans = plan_merge([x._lod[level:] for x in xs])
    return [x.values for x in xs], (*xs[0]._lod[:level], *levels), plans


def _joined_shape(xs, axis):
    shape = xs[0].shape
    return *shape[:axis], sum(x.shape[axis] for x in xs), *shape[axis + 1 :]


@ops.sequence_concat.kernel("cpu", "cuda")
def sequence_concat(on, *xs: LoDTensor, axis, level, out=None):
    axis, level, dtype = prepare_concat(xs, axis, level)
    values = [x._values for x in xs]
    if not axis and level + 1 == len(xs[0]._lod):
        bounds = [x._lod[-1] for x in xs]
        offsets = join_levels(bounds)
        out = on.output((offsets.item(-1), *values[0].shape[1:]), dtype, out, values[0])
        on.sequence_structure.join_rows(values, bounds, offsets, out)
        return LoDTensor._wrap(out, (*xs[0]._lod[:-1], offsets))
    if not axis:
        return scatter_by_plan(on, _plan_concat(xs, level), out)
    out = on.output(_joined_shape(values, axis), dtype, out, values[0])
    on.sequence_structure.join(values, axis, out)
    return LoDTensor._wrap(out, xs[0]._lod)


@ops.sequence_concat_grad.kernel("cpu", "cuda")
def sequence_concat_grad(on, grad, /, *xs: LoDTensor, axis, level):
    axis, level, dtype = prepare_concat(xs, axis, level, "the gradient", floating=True)
    if not axis:
        return scatter_grad(on, _plan_concat(xs, level), grad)
    values = [x.values for x in xs]
    check_gradient(grad, _joined_shape(values, axis))
    return on.sequence_structure.split(grad, values, axis, dtype)
