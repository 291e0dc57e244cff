"""Kernels of lodkit/ops/sparse_dense.py."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_gradient, native
from ...lod import LoDTensor, SelectedRows
from ...ops import sparse_dense as ops
from ...registry import Dense


@ops.sparse_to_dense.kernel("cpu", "cuda")
def sparse_to_dense(on, indices, values, /, *, num_rows):
    indices, values, rows = ops.prepare(on, indices, values, num_rows)
    # Reshaped, because _wrap makes the array read-only.
    return on.dense_rows(SelectedRows._wrap(indices.reshape(-1), values, rows))


@ops.sparse_to_dense_mask.kernel("cpu", "cuda")
def sparse_to_dense_mask(on, ids: Dense | LoDTensor, values: Dense | LoDTensor, default, /, *, mask, max_skipped):
    ids, flat, values, mask, offsets, shape = ops.prepare_mask(on, ids, values, mask, "sparse_to_dense_mask")
    dtype, item = native(values.dtype), values.shape[1:]
    ops.check_default(default, item, dtype)
    ops.check_skipped(on, flat, offsets, max_skipped)
    dense = on.output((*shape, *item), dtype, None, values)
    rows = dense.reshape(math.prod(shape), *item)
    on.fill_rows(rows, default)
    presence = on.put_last(offsets, _cells(on, offsets, flat, mask), values, rows, presence=True)
    return ops.with_example_levels(ids, dense), ops.with_example_levels(ids, presence.reshape(*shape))


def _cells(on, offsets, ids, mask):
    return on.cells_of(offsets, on.find_columns(ids, mask), len(mask))


@ops.sparse_to_dense_mask_grad.kernel("cpu", "cuda")
def sparse_to_dense_mask_grad(on, ids: Dense | LoDTensor, values, grad, /, *, mask):
    _, flat, values, mask, offsets, shape = ops.prepare_mask(on, ids, values, mask, "the gradient", floating=True)
    dtype, item, cells = native(values.dtype), values.shape[1:], math.prod(shape)
    check_gradient(grad, (*shape, *item))
    last, seen = on.find_last(offsets, _cells(on, offsets, flat, mask), cells)
    rows, absent = on.convert(grad.reshape(cells, *item), dtype), on.absent_in(seen)
    by_values = on.output(values.shape, dtype, None, values)
    on.gather(rows, last, None, by_values)
    by_default = on.reduce_into(rows, absent, None, None, np.array([0, len(absent)]), "sum", 0.0)
    return by_values, by_default.reshape(item)
