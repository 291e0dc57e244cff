"""Kernels of lodkit/ops/sparse_matrix.py: cells of a matrix, in front of copies and sums of rows."""

from __future__ import annotations

import math

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor, SelectedRows
from ...ops.sequence_pool import with_outer_levels
from ...ops.shared.reductions import pad_of
from ...ops.sparse_matrix import prepare_columns, prepare_matrix, prepare_matrix_grad
from ...registry import Dense


def flatten_axes(array, axes):
    """An array with its first axes made one."""
    return array.reshape(math.prod(array.shape[:axes]), *array.shape[axes:])


@ops.sparse_matrix.kernel("cpu", "cuda")
def sparse_matrix(on, ids: LoDTensor, scores: Dense | LoDTensor | None, /, *, num_columns):
    bags, flat, scores, columns = prepare_matrix(on, ids, scores, num_columns, "scores", "sparse_matrix")
    if scores is None:
        scores = on.fill(on.output(flat.shape, np.float32, None, flat), 1)
    offsets = bags._row_offsets()
    rows = len(offsets) - 1
    dense = on.dense_rows(SelectedRows._wrap(on.cells_of(offsets, flat, columns), scores, rows * columns))
    return with_outer_levels(bags, -1, dense.reshape((rows, columns, *scores.shape[1:])))


@ops.batch_dense_to_sparse.kernel("cpu", "cuda")
def batch_dense_to_sparse(on, ids: LoDTensor, dense: Dense | LoDTensor, /, *, out=None):
    bags, flat, dense = prepare_columns(on, ids, dense)
    out = on.output((len(flat), *dense.shape[2:]), native(dense.dtype), out, dense)
    on.gather(flatten_axes(dense, 2), on.cells_of(bags._row_offsets(), flat, dense.shape[1]), None, out)
    return bags.with_values(out)


@ops.batch_sparse_to_dense.kernel("cpu", "cuda")
def batch_sparse_to_dense(on, ids: LoDTensor, values: Dense | LoDTensor, /, *, num_columns, pad_value, out=None):
    bags, flat, values, columns = prepare_matrix(on, ids, values, num_columns, "values", "batch_sparse_to_dense")
    dtype, offsets = native(values.dtype), bags._row_offsets()
    pad, shape = pad_of(pad_value, dtype), (len(offsets) - 1, columns, *values.shape[1:])
    out = on.fill(on.output(shape, dtype, out, values), pad)
    on.put_last(offsets, on.cells_of(offsets, flat, columns), values, flatten_axes(out, 2))
    return with_outer_levels(bags, -1, out)


@ops.batch_sparse_to_dense_grad.kernel("cpu", "cuda")
def batch_sparse_to_dense_grad(on, ids: LoDTensor, values: Dense | LoDTensor, grad, /):
    bags, flat, values = prepare_matrix_grad(on, ids, values, grad)
    dtype, offsets, columns = native(values.dtype), bags._row_offsets(), grad.shape[1]
    last, _ = on.find_last(offsets, on.cells_of(offsets, flat, columns), (len(offsets) - 1) * columns)
    result = on.output(values.shape, dtype, None, values)
    on.gather(on.convert(flatten_axes(grad, 2), dtype), last, None, result)
    return bags.with_values(result)
