"""Kernels of lodkit/ops/columns.py."""

from __future__ import annotations

from ...ops import columns as ops


@ops.concat_columns.kernel("cpu", "cuda")
def concat_columns(on, *xs, out=None):
    dtype, widths = ops.check_columns(xs)
    out = on.output((len(xs[0]), sum(widths)), dtype, out, xs[0])
    on.columns.join_columns(xs, widths, out)
    return out


@ops.concat_columns_grad.kernel("cpu", "cuda")
def concat_columns_grad(on, grad, /, *xs):
    return on.columns.split_columns(grad, xs, ops.check_columns(xs, grad)[1])


@ops.slice_columns.kernel("cpu", "cuda")
def slice_columns(on, x, /, *, ranges, out=None):
    dtype, pairs, width = ops.check_ranges(x, ranges)
    out = on.output((len(x), width), dtype, out, x)
    on.columns.take_columns(x, pairs, out)
    return out


@ops.slice_columns_grad.kernel("cpu", "cuda")
def slice_columns_grad(on, x, grad, /, *, ranges):
    _, pairs, _ = ops.check_ranges(x, ranges, grad)
    return on.columns.add_columns(x, grad, pairs)
