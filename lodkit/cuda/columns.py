"""CUDA kernels of lodkit/ops/columns.py."""

from __future__ import annotations

from ..ops import columns as ops
from ..registry import Dense
from . import vector
from .launch import cuda, launch
from .memory import output, view


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
