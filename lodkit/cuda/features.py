"""CUDA kernels of lodkit/ops/features.py. Structure is worked out on the CPU, where a LoDTensor has its own."""

from __future__ import annotations

from .._placement import plan_merge, plan_pack, plan_select, plan_stack
from ..arrays import check_gradient, check_values
from ..lod_tensor import LoDTensor
from ..ops import _features as checks
from ..ops import features as ops
from ..registry import Dense
from . import vector
from ._elements import convert, fill
from ._ranges import copy_ranges
from .launch import cuda, launch
from .memory import output, view


def placed(plan, out):
    """The rows of all inputs where they go."""
    xs, levels, places = plan
    out = output(xs[0], (int(levels[-1][-1]), *xs[0].shape[1:]), xs[0].dtype, out)
    for x, (starts, stops, to) in zip(xs, places, strict=True):
        copy_ranges(x, starts, stops, out, to)
    return LoDTensor._wrap(out.array, levels)


def placed_back(plan, grad):
    """The rows of a gradient where those of the inputs came from, zeros elsewhere."""
    xs, levels, places = plan
    grad = view(grad)
    check_gradient(grad, (int(levels[-1][-1]), *xs[0].shape[1:]))
    dtype = check_values(xs[0].dtype, "the gradient", floating=True)
    made, grad = [fill(x.like(x.shape), 0) for x in xs], convert(grad, dtype)
    for part, (starts, stops, to) in zip(made, places, strict=True):
        copy_ranges(grad, to, to + stops - starts, part, starts)
    return tuple(part.array for part in made)


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


@cuda.jit
def _copy_columns(source, source_width, source_start, n, width, out, out_width, out_start):
    i = cuda.grid(1)
    while i < n:
        row, column = i // width, i % width
        x = vector.load(source, row * source_width + source_start + column, 1)
        vector.store(out, row * out_width + out_start + column, x)
        i += cuda.gridsize(1)


@ops.concat_columns.kernel("cuda")
def concat(*xs: Dense, out=None):
    views = [view(x) for x in xs]
    widths = checks.check_columns(views)
    out, start = output(views[0], (len(views[0]), sum(widths)), views[0].dtype, out), 0
    for x, width in zip(views, widths, strict=True):
        launch(_copy_columns, x.size, x, width, 0, x.size, width, out, sum(widths), start)
        start += width
    return out.array


@ops.concat_columns_grad.kernel("cuda")
def concat_grad(grad: Dense, /, *xs: Dense):
    views, grad = [view(x) for x in xs], view(grad)
    widths = checks.check_columns(views, grad)
    parts, start = [x.like(x.shape) for x in views], 0
    for part, width in zip(parts, widths, strict=True):
        launch(_copy_columns, part.size, grad, sum(widths), start, part.size, width, part, width, 0)
        start += width
    return tuple(part.array for part in parts)
