"""CPU kernels of lodkit/ops/gather_scatter.py: lookups, of rows and along another axis."""

from __future__ import annotations

import math

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_rows, check_values, matrix, native
from ...arrays.ids import checked_ids
from ...errors import bad_along
from ...jit import settings
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
    wrapped,
)
from ...registry import Dense
from .embedding import lookup, lookup_grad
from .primitives.gather import copy_rows
from .selected_rows import dense_rows


def _source_rows(shape, ids, axis, match_outer):
    """The row of ``as_rows(shape, axis)`` that every gathered one comes from."""
    outer, count = math.prod(shape[:axis]), math.prod(ids.shape[axis if match_outer else 0 :])
    starts = np.arange(outer).reshape(-1, 1) * shape[axis]
    return (starts + ids.reshape(outer if match_outer else 1, count)).reshape(-1)


@gather.kernel("cpu")
def run(data: Dense, ids: Dense | LoDTensor, /, *, axis, wrap, match_outer, is_sparse, out=None):
    axis = check_axis(check_rows(data, "data").ndim, axis)
    check_structure(ids, axis)
    numbers = wrapped(values_of(ids), data.shape[axis], wrap)
    if axis == 0:
        return structured(lookup(data, numbers, padding_idx=None, out=out), ids)
    return run_along(data, numbers, axis, match_outer, out)


def run_along(data, ids, axis, match_outer, out):
    dtype = check_values(data.dtype, "gather")
    check_outer(data.shape, ids.shape, axis, match_outer)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    out = arrays.output(gathered_shape(data.shape, ids.shape, axis, match_outer), dtype, out)
    rows = _source_rows(data.shape, ids, axis, match_outer)
    source, target = data.reshape(as_rows(data.shape, axis)), out.reshape(len(rows), *data.shape[axis + 1 :])
    copy_rows(out.size, matrix(source), rows, -1, settings.chunk_rows, matrix(target))
    return out


@gather_grad.kernel("cpu")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, wrap, is_sparse):
    return lookup_grad(data, wrapped(ids, len(data), wrap), grad, padding_idx=None, is_sparse=is_sparse)


@batch_gather.kernel("cpu")
def run_batch(data: Dense, ids: Dense, /, *, match_outer, out=None):
    axis = check_axis(data.ndim, 1)
    return run_along(data, wrapped(ids, data.shape[axis], False), axis, match_outer, out)


@batch_gather_grad.kernel("cpu")
def run_batch_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis, wrap, match_outer):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    axis = check_axis(data.ndim, axis)
    ids = wrapped(ids, data.shape[axis], wrap)
    check_outer(data.shape, ids.shape, axis, match_outer)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    check_gradient(grad, gathered_shape(data.shape, ids.shape, axis, match_outer))
    rows = _source_rows(data.shape, ids, axis, match_outer)
    return rows_grad(as_rows(data.shape, axis), rows, grad, dtype).reshape(data.shape)


def rows_grad(shape, rows, grad, dtype):
    """The dense gradient of ``data[rows]``, where ``data`` has this shape."""
    value = grad.reshape(len(rows), *shape[1:]).astype(native(dtype), copy=False)
    return dense_rows(SelectedRows._wrap(rows, value, shape[0]))
