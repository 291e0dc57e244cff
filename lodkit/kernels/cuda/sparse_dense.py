"""CUDA kernels of lodkit/ops/sparse_dense.py."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient
from ...arrays.cuda.elementwise import convert, fill
from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor, values_of
from ...lod.selected_rows import SelectedRows
from ...ops import sparse_dense as ops
from ...registry import Dense
from .conversions import integers
from .primitives.cells import absent_in, cells_of, checked_columns, find_columns, find_last, seen_in
from .primitives.gather import gather, put_rows
from .primitives.merge import dense_rows
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_rows
from .sparse_matrix import rows_of, values_for


@ops.sparse_to_dense.kernel("cuda")
def sparse_to_dense(indices: Dense, values: Dense, /, *, num_rows):
    values = values_for(integers(indices, "indices"), values, "values", "sparse_to_dense")
    indices, rows = checked_columns(indices, num_rows, "indices", "num_rows")
    return dense_rows(SelectedRows._wrap(convert(indices, np.int64).array, values.array, rows))


def _last_of(ids, mask):
    """Of each id the cell where it is the last one, and what tells which cells have any."""
    offsets, flat = ops.mask_offsets(ids), integers(values_of(ids), "ids")
    return find_last(cells_of(offsets, find_columns(flat, mask), len(mask)), (len(offsets) - 1) * len(mask))


@ops.sparse_to_dense_mask.kernel("cuda")
def sparse_to_dense_mask(ids: Dense | LoDTensor, values: Dense | LoDTensor, default: Dense, /, *, mask, max_skipped):
    ids, mask = ops.mask_ids(ids), ops.check_mask(mask)
    values, default = values_for(ids, values, "values", "sparse_to_dense_mask"), view(default)
    item = values.shape[1:]
    ops.check_default(default, item, values.dtype)
    if max_skipped is not None:
        ops.check_skipped(integers(values_of(ids), "ids").read(), ops.mask_offsets(ids), max_skipped)
    last, behind = _last_of(ids, mask)
    shape = ops.mask_shape(ids, mask, item)
    dense, axes = values.like(shape), len(shape) - len(item)
    rows, everywhere = rows_of(dense, axes), fill(behind.like(behind.shape), 0)
    gather(convert(default, values.dtype).reshape(1, *item), everywhere, None, rows)
    put_rows(last, values, rows)
    return ops.under(ids, dense.array), ops.under(ids, seen_in(behind, shape[:axes]).array)


@ops.sparse_to_dense_mask_grad.kernel("cuda")
def sparse_to_dense_mask_grad(ids: Dense | LoDTensor, values: Dense, grad: Dense, /, *, mask):
    ids, mask, grad = ops.mask_ids(ids), ops.check_mask(mask), view(grad)
    values = values_for(ids, values, "values", "the gradient", floating=True)
    item = values.shape[1:]
    check_gradient(grad, ops.mask_shape(ids, mask, item))
    last, behind = _last_of(ids, mask)
    rows = convert(rows_of(grad, grad.ndim - len(item)), values.dtype)
    by_values, by_default = values.like(values.shape), values.like((1, *item))
    gather(rows, last, None, by_values)
    everything = offsets_like(grad, np.array([0, behind.size]))
    reduce_rows("sum", rows, absent_in(behind), None, None, everything, 0, by_default)
    return by_values.array, by_default.reshape(*item).array
