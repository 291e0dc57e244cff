"""CPU kernels of lodkit/ops/sparse_dense.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, matrix, native
from ...jit import settings
from ...lod.levels import check_vector
from ...lod.lod_tensor import LoDTensor, values_of
from ...lod.selected_rows import SelectedRows
from ...ops import sparse_dense as ops
from ...ops.shared.columns import check_values_of
from ...registry import Dense
from .primitives.cells import cells_of, checked_columns, find_columns, find_last, put_last
from .primitives.merge import dense_rows
from .primitives.reduce import reduce_rows
from .sparse_matrix import pick_rows, rows_of


@ops.sparse_to_dense.kernel("cpu")
def sparse_to_dense(indices: Dense, values: Dense, /, *, num_rows):
    indices = check_vector(indices, "indices")
    check_values_of(values, indices, "values", "sparse_to_dense")
    indices, rows = checked_columns(indices, num_rows, "indices", "num_rows")
    return dense_rows(SelectedRows._wrap(indices, values, rows))


def _mask_cells(ids, mask):
    """Offsets of the examples, and the cell of each id: -1 where the mask has it not."""
    offsets, flat = ops.mask_offsets(ids), check_vector(values_of(ids), "ids")
    order, columns = np.argsort(mask), np.empty(len(flat), np.int64)
    find_columns(len(flat), flat, mask[order], order, settings.chunk_rows, columns)
    return offsets, flat, cells_of(offsets, columns, len(mask))


@ops.sparse_to_dense_mask.kernel("cpu")
def sparse_to_dense_mask(ids: Dense | LoDTensor, values: Dense | LoDTensor, default: Dense, /, *, mask, max_skipped):
    ids, mask = ops.mask_ids(ids), ops.check_mask(mask)
    values = check_values_of(values, ids, "values", "sparse_to_dense_mask")
    dtype, item = native(values.dtype), values.shape[1:]
    ops.check_default(default, item, dtype)
    offsets, flat, cells = _mask_cells(ids, mask)
    ops.check_skipped(flat, offsets, max_skipped)
    shape = ops.mask_shape(ids, mask, item)
    dense = arrays.output(shape, dtype)
    dense[...] = default
    axes = len(shape) - len(item)
    put_last(values.size, offsets, cells, matrix(values), matrix(rows_of(dense, axes)))
    presence, last = np.zeros(shape[:axes], bool), np.empty(len(flat), np.int64)
    find_last(len(flat), offsets, cells, presence.reshape(-1), last)
    return ops.under(ids, dense), ops.under(ids, presence)


@ops.sparse_to_dense_mask_grad.kernel("cpu")
def sparse_to_dense_mask_grad(ids: Dense | LoDTensor, values: Dense, grad: Dense, /, *, mask):
    ids, mask = ops.mask_ids(ids), ops.check_mask(mask)
    check_values_of(values, ids, "values", "the gradient", floating=True)
    dtype, item = native(values.dtype), values.shape[1:]
    check_gradient(grad, ops.mask_shape(ids, mask, item))
    offsets, flat, cells = _mask_cells(ids, mask)
    seen, last = np.zeros((len(offsets) - 1) * len(mask), bool), np.empty(len(flat), np.int64)
    find_last(len(flat), offsets, cells, seen, last)
    rows = rows_of(grad, grad.ndim - len(item)).astype(dtype, copy=False)
    by_values, by_default = arrays.output(values.shape, dtype), arrays.output((1, *item), dtype)
    pick_rows(rows, last, by_values)
    absent = np.flatnonzero(~seen)
    pad = matrix(by_default).dtype.type(0)
    reduce_rows("sum", matrix(rows), absent, None, None, np.array([0, len(absent)]), pad, matrix(by_default))
    return by_values, by_default.reshape(item)
