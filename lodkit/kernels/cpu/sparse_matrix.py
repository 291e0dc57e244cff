"""CPU kernels of lodkit/ops/sparse_matrix.py: cells of a matrix, in front of copies and sums of rows."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import matrix, native
from ...jit import settings
from ...lod.lod_tensor import LoDTensor
from ...lod.selected_rows import SelectedRows
from ...ops.embedding import check_bag
from ...ops.sequence_pool import above
from ...ops.shared.columns import check_dense, check_values_of
from ...ops.shared.reductions import pad_of
from ...ops.sparse_matrix import (
    batch_dense_to_sparse,
    batch_sparse_to_dense,
    batch_sparse_to_dense_grad,
    check_matrix_grad,
    sparse_matrix,
)
from ...registry import Dense
from .primitives.cells import cells_of, checked_columns, find_last, put_last
from .primitives.gather import gather_kernel
from .primitives.merge import dense_rows


@sparse_matrix.kernel("cpu")
def run_sparse_matrix(ids: LoDTensor, scores: Dense | LoDTensor | None = None, /, *, num_columns):
    ids = check_bag(ids, "sparse_matrix")
    scores = np.ones(len(ids.values), np.float32) if scores is None else scores
    scores = check_values_of(scores, ids, "scores", "sparse_matrix")
    flat, columns = checked_columns(ids.values, num_columns, "ids", "num_columns")
    offsets = ids.row_offsets()
    rows = len(offsets) - 1
    dense = dense_rows(SelectedRows._wrap(cells_of(offsets, flat, columns), scores, rows * columns))
    return above(ids, -1, dense.reshape(rows, columns, *scores.shape[1:]))


@batch_dense_to_sparse.kernel("cpu")
def run_batch_dense_to_sparse(ids: LoDTensor, dense: Dense | LoDTensor, /, *, out=None):
    ids = check_bag(ids, "batch_dense_to_sparse")
    offsets = ids.row_offsets()
    dense = check_dense(dense, len(offsets) - 1)
    dtype = arrays.check_values(dense.dtype, "batch_dense_to_sparse")
    flat, columns = checked_columns(ids.values, dense.shape[1], "ids", "dense.shape[1]")
    out = arrays.output((len(flat), *dense.shape[2:]), dtype, out)
    pick_rows(rows_of(dense, 2), cells_of(offsets, flat, columns), out)
    return ids.with_values(out)


def pick_rows(rows, which, out):
    """``out[i] = rows[which[i]]``, zeros where that is -1."""
    gather_kernel(out.size, matrix(rows), which, -1, settings.chunk_rows, matrix(out))


@batch_sparse_to_dense.kernel("cpu")
def run_batch_sparse_to_dense(ids: LoDTensor, values: Dense | LoDTensor, /, *, num_columns, pad_value, out=None):
    ids = check_bag(ids, "batch_sparse_to_dense")
    values = check_values_of(values, ids, "values", "batch_sparse_to_dense")
    dtype, offsets = native(values.dtype), ids.row_offsets()
    pad = pad_of(pad_value, dtype)
    flat, columns = checked_columns(ids.values, num_columns, "ids", "num_columns")
    out = arrays.output((len(offsets) - 1, columns, *values.shape[1:]), dtype, out)
    out[...] = pad
    cells = cells_of(offsets, flat, columns)
    put_last(values.size, offsets, cells, matrix(values), matrix(rows_of(out, 2)))
    return above(ids, -1, out)


def rows_of(dense, axes):
    """A dense array with its first axes made one."""
    return dense.reshape(int(np.prod(dense.shape[:axes])), *dense.shape[axes:])


@batch_sparse_to_dense_grad.kernel("cpu")
def run_batch_sparse_to_dense_grad(ids: LoDTensor, values: Dense | LoDTensor, grad: Dense, /):
    ids = check_bag(ids, "batch_sparse_to_dense")
    values = check_values_of(values, ids, "values", "the gradient", floating=True)
    check_matrix_grad(ids, values, grad)
    flat, columns = checked_columns(ids.values, grad.shape[1], "ids", "grad.shape[1]")
    offsets, last = ids.row_offsets(), np.empty(len(flat), np.int64)
    seen = np.zeros((len(offsets) - 1) * columns, bool)
    find_last(len(flat), offsets, cells_of(offsets, flat, columns), seen, last)
    result = arrays.output(values.shape, native(values.dtype))
    pick_rows(rows_of(grad, 2).astype(result.dtype, copy=False), last, result)
    return ids.with_values(result)
