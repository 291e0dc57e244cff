"""CUDA kernels of lodkit/ops/columns.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...jit import simd
from ...ops import columns as ops
from ...registry import Dense


@cuda.jit
def _copy_columns(source, source_width, source_start, n, width, out, out_width, out_start):
    i = cuda.grid(1)
    while i < n:
        row, column = i // width, i % width
        x = vector.load(source, row * source_width + source_start + column, 1)
        vector.store(out, row * out_width + out_start + column, x)
        i += cuda.gridsize(1)


def join_columns(views, widths, out):
    """Put rows of these widths side by side into ``out``."""
    start = 0
    for x, width in zip(views, widths, strict=True):
        launch(_copy_columns, x.size, x, width, 0, x.size, width, out, sum(widths), start)
        start += width


def split_columns(grad, views, widths):
    """New arrays like these, each of its columns."""
    parts, start = [x.like(x.shape) for x in views], 0
    for part, width in zip(parts, widths, strict=True):
        launch(_copy_columns, part.size, grad, sum(widths), start, part.size, width, part, width, 0)
        start += width
    return tuple(part.array for part in parts)


@ops.concat_columns.kernel("cuda")
def concat(*xs: Dense, out=None):
    views = [view(x) for x in xs]
    widths = ops.check_columns(views)
    out = output(views[0], (len(views[0]), sum(widths)), views[0].dtype, out)
    join_columns(views, widths, out)
    return out.array


@ops.concat_columns_grad.kernel("cuda")
def concat_grad(grad: Dense, /, *xs: Dense):
    views, grad = [view(x) for x in xs], view(grad)
    return split_columns(grad, views, ops.check_columns(views, grad))


@ops.slice_columns.kernel("cuda")
def slice_(x: Dense, /, *, ranges, out=None):
    x = view(x)
    pairs, total = ops.check_ranges(x, ranges)
    out, first = output(x, (len(x), total), x.dtype, out), 0
    for start, stop in pairs:
        width, n = stop - start, len(x) * (stop - start)
        launch(_copy_columns, n, x, x.columns, start, n, width, out, total, first)
        first += width
    return out.array


@cuda.jit
def _add_columns(grad, width, offsets, sources, columns, n, out):
    """The sum of the columns of ``grad`` that were made of each column, by lists of them."""
    i = cuda.grid(1)
    while i < n:
        row, column = i // columns, i % columns
        total = simd.full(grad, 1, 0.0)
        for k in range(vector.number(offsets, column), vector.number(offsets, column + 1)):
            total = simd.add(total, vector.load(grad, row * width + vector.number(sources, k), 1))
        vector.store(out, i, total)
        i += cuda.gridsize(1)


@ops.slice_columns_grad.kernel("cuda")
def slice_grad(x: Dense, grad: Dense, /, *, ranges):
    x, grad = view(x), view(grad)
    pairs, width = ops.check_ranges(x, ranges, grad)
    made_of = np.concatenate([np.zeros(0, np.int64), *(np.arange(*pair) for pair in pairs)])
    offsets = np.searchsorted(np.sort(made_of), np.arange(x.columns + 1))
    offsets, sources, out = x.send(offsets), x.send(np.argsort(made_of, kind="stable")), x.like(x.shape)
    launch(_add_columns, x.size, grad, width, offsets, sources, x.columns, x.size, out)
    return out.array
