"""CUDA kernels of lodkit/ops/sparse_matrix.py: cells of a matrix, in front of copies and sums of rows."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_values
from ...arrays.cuda.elementwise import convert, fill
from ...arrays.cuda.memory import output, view
from ...lod.lod_tensor import LoDTensor, values_of
from ...lod.selected_rows import SelectedRows
from ...ops.embedding import check_bag
from ...ops.sequence_pool import above
from ...ops.shared.columns import check_dense, check_one_each
from ...ops.shared.reductions import pad_of
from ...ops.sparse_matrix import (
    batch_dense_to_sparse,
    batch_sparse_to_dense,
    batch_sparse_to_dense_grad,
    check_matrix_grad,
    sparse_matrix,
)
from ...registry import Dense
from ...registry.kinds import aligned
from .primitives.cells import cells_of, checked_columns, find_last
from .primitives.gather import gather, put_rows
from .primitives.merge import dense_rows


def values_for(ids, values, name, what, floating=False):
    """The View of values, one row for every id."""
    values = view(aligned(values, ids, name))
    check_values(values.dtype, what, floating=floating)
    check_one_each(values, len(values_of(ids)), name)
    return values


@sparse_matrix.kernel("cuda")
def run_sparse_matrix(ids: LoDTensor, scores: Dense | LoDTensor | None = None, /, *, num_columns):
    ids = check_bag(ids, "sparse_matrix")
    if scores is None:
        flat = view(ids.values)
        values = fill(flat.like(flat.shape, np.float32), 1)
    else:
        values = values_for(ids, scores, "scores", "sparse_matrix")
    flat, columns = checked_columns(ids.values, num_columns, "ids", "num_columns")
    offsets = ids.row_offsets()
    rows = len(offsets) - 1
    cells = cells_of(offsets, flat, columns)
    dense = view(dense_rows(SelectedRows._wrap(cells.array, values.array, rows * columns)))
    return above(ids, -1, dense.reshape(rows, columns, *values.shape[1:]).array)


@batch_dense_to_sparse.kernel("cuda")
def run_batch_dense_to_sparse(ids: LoDTensor, dense: Dense | LoDTensor, /, *, out=None):
    ids, dense = check_bag(ids, "batch_dense_to_sparse"), view(values_of(dense))
    offsets = ids.row_offsets()
    check_dense(dense, len(offsets) - 1)
    dtype = check_values(dense.dtype, "batch_dense_to_sparse")
    flat, columns = checked_columns(ids.values, dense.shape[1], "ids", "dense.shape[1]")
    out = output(dense, (flat.size, *dense.shape[2:]), dtype, out)
    gather(rows_of(dense, 2), cells_of(offsets, flat, columns), None, out)
    return ids.with_values(out.array)


def rows_of(dense, axes):
    """A dense View with its first axes made one."""
    return dense.reshape(math.prod(dense.shape[:axes]), *dense.shape[axes:])


@batch_sparse_to_dense.kernel("cuda")
def run_batch_sparse_to_dense(ids: LoDTensor, values: Dense | LoDTensor, /, *, num_columns, pad_value, out=None):
    ids = check_bag(ids, "batch_sparse_to_dense")
    values = values_for(ids, values, "values", "batch_sparse_to_dense")
    pad, offsets = pad_of(pad_value, values.dtype), ids.row_offsets()
    flat, columns = checked_columns(ids.values, num_columns, "ids", "num_columns")
    out = fill(output(values, (len(offsets) - 1, columns, *values.shape[1:]), values.dtype, out), pad)
    last, _ = find_last(cells_of(offsets, flat, columns), (len(offsets) - 1) * columns)
    put_rows(last, values, rows_of(out, 2))
    return above(ids, -1, out.array)


@batch_sparse_to_dense_grad.kernel("cuda")
def run_batch_sparse_to_dense_grad(ids: LoDTensor, values: Dense | LoDTensor, grad: Dense, /):
    ids, grad = check_bag(ids, "batch_sparse_to_dense"), view(grad)
    values = values_for(ids, values, "values", "the gradient", floating=True)
    check_matrix_grad(ids, values, grad)
    flat, columns = checked_columns(ids.values, grad.shape[1], "ids", "grad.shape[1]")
    offsets, result = ids.row_offsets(), values.like(values.shape)
    last, _ = find_last(cells_of(offsets, flat, columns), (len(offsets) - 1) * columns)
    gather(convert(rows_of(grad, 2), values.dtype), last, None, result)
    return ids.with_values(result.array)
