"""CUDA kernels of lodkit/ops/gather_scatter.py: lookups, of rows and along another axis."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_gradient, check_rows, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...errors import bad_along
from ...lod.lod_tensor import LoDTensor, values_of
from ...lod.selected_rows import SelectedRows
from ...ops.gather_scatter import (
    as_rows,
    batch_gather,
    batch_gather_grad,
    check_axis,
    check_outer,
    check_structure,
    gather,
    gather_grad,
    gathered_shape,
    structured,
)
from ...registry import Dense
from .embedding import lookup, lookup_grad
from .primitives.gather import copy_rows
from .selected_rows import dense_rows


@cuda.jit
def _wrap(ids, n, height, out):
    """Count ids that are counted from the end from the start; those before the start stay as they are."""
    i = cuda.grid(1)
    while i < n:
        row = vector.number(ids, i)
        out[i] = row + height if -height <= row < 0 else row
        i += cuda.gridsize(1)


@cuda.jit
def _source_rows(ids, height, count, own, n, rows):
    """The row that every gathered one comes from, -1 where the id is outside; ``own``: each batch has its ids."""
    i = cuda.grid(1)
    while i < n:
        row = vector.number(ids, i if own else i % count)
        rows[i] = i // count * height + row if 0 <= row < height else -1
        i += cuda.gridsize(1)


def wrapped(ids, height, wrap):
    ids = view(ids)
    if not wrap:
        return ids
    out = ids.like(ids.shape, np.int64)
    launch(_wrap, ids.size, ids, ids.size, height, out)
    return out


def source_rows(shape, ids, axis, match_outer):
    """The row of ``as_rows(shape, axis)`` that every gathered one comes from."""
    outer, count = math.prod(shape[:axis]), math.prod(ids.shape[axis if match_outer else 0 :])
    rows = ids.like((outer * count,), np.int64)
    launch(_source_rows, rows.size, ids, shape[axis], count, int(match_outer), rows.size, rows)
    return rows


@gather.kernel("cuda")
def run(data: Dense, ids: Dense | LoDTensor, /, *, axis, wrap, match_outer, is_sparse, out=None):
    data = check_rows(view(data), "data")
    axis = check_axis(data.ndim, axis)
    check_structure(ids, axis)
    numbers = wrapped(values_of(ids), data.shape[axis], wrap)
    if axis == 0:
        return structured(lookup(data, numbers, padding_idx=None, out=out), ids)
    return run_along(data, numbers, axis, match_outer, out)


def run_along(data, ids, axis, match_outer, out):
    dtype = check_values(data.dtype, "gather")
    check_outer(data.shape, ids.shape, axis, match_outer)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    out = output(data, gathered_shape(data.shape, ids.shape, axis, match_outer), dtype, out)
    rows = source_rows(data.shape, ids, axis, match_outer)
    target = out.reshape(len(rows), *data.shape[axis + 1 :])
    copy_rows(data.reshape(*as_rows(data.shape, axis)), rows, None, target)
    return out.array


@gather_grad.kernel("cuda")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, wrap, is_sparse):
    data = view(data)
    return lookup_grad(data, wrapped(ids, len(data), wrap), grad, padding_idx=None, is_sparse=is_sparse)


@batch_gather.kernel("cuda")
def run_batch(data: Dense, ids: Dense, /, *, match_outer, out=None):
    data = view(data)
    return run_along(data, view(ids), check_axis(data.ndim, 1), match_outer, out)


@batch_gather_grad.kernel("cuda")
def run_batch_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis, wrap, match_outer):
    data, grad = view(data), view(grad)
    check_values(data.dtype, "the gradient", floating=True)
    axis = check_axis(data.ndim, axis)
    ids = wrapped(ids, data.shape[axis], wrap)
    check_outer(data.shape, ids.shape, axis, match_outer)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    check_gradient(grad, gathered_shape(data.shape, ids.shape, axis, match_outer))
    rows = source_rows(data.shape, ids, axis, match_outer)
    return rows_grad(as_rows(data.shape, axis), rows, grad, data.dtype).reshape(*data.shape).array


def rows_grad(shape, rows, grad, dtype):
    """The dense gradient of ``data[rows]``, where ``data`` has this shape: a View."""
    value = convert(grad, dtype).reshape(len(rows), *shape[1:])
    return view(dense_rows(SelectedRows._wrap(rows.array, value.array, shape[0])))
