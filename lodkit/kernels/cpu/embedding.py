"""CPU kernels of lodkit/ops/embedding.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_rows, check_values, matrix
from ...arrays.ids import checked_ids
from ...jit import settings
from ...lod.lod_tensor import LoDTensor
from ...ops.embedding import (
    check_bag,
    embedding_bag,
    embedding_bag_grad,
    embedding_bag_weights_grad,
    lookup_table,
    lookup_table_grad,
)
from ...ops.sequence_pool import above
from ...ops.shared.reductions import check_weighted, check_weights
from ...ops.shared.tables import check_padding
from ...registry import Dense
from ...registry.kinds import aligned
from .primitives.gather import copy_rows
from .primitives.gradients import values_grad, weights_grad
from .segments import reduce_into
from .selected_rows import table_grad


@lookup_table.kernel("cpu")
def lookup(table: Dense, ids: Dense, /, *, padding_idx, is_sparse=True, out=None):
    dtype = check_values(check_rows(table, "table").dtype, "lookup_table")
    if padding_idx is not None:
        check_padding(padding_idx, len(table))
    ids = checked_ids(ids, len(table))
    out = arrays.output(ids.shape + table.shape[1:], dtype, out)
    rows, flat, target = matrix(table), ids, out
    if ids.ndim != 1:
        flat, target = ids.reshape(-1), out.reshape(ids.size, *table.shape[1:])
    copy_rows(out.size, rows, flat, -1 if padding_idx is None else padding_idx, settings.chunk_rows, matrix(target))
    return out


@lookup_table_grad.kernel("cpu")
def lookup_grad(table: Dense, ids: Dense, grad: Dense, /, *, padding_idx, is_sparse):
    dtype = check_values(table.dtype, "the gradient", floating=True)
    check_padding(padding_idx, len(table))
    ids = np.array(checked_ids(ids, len(table)))  # a copy: the gradient outlives the batch
    ids, shape = ids.reshape(-1), ids.shape + table.shape[1:]
    check_gradient(grad, shape)
    rows = grad.reshape(ids.size, *table.shape[1:]).astype(dtype, copy=False)
    return table_grad(table, ids, rows, padding_idx, is_sparse)


@embedding_bag.kernel("cpu")
def bag(
    table: Dense,
    ids: LoDTensor,
    weights: Dense | LoDTensor | None = None,
    /,
    *,
    pool,
    pad_value,
    padding_idx,
    is_sparse,
    dtype,
    out=None,
):
    bags = check_bag(ids)
    flat = checked_ids(bags.values, len(check_rows(table, "table")))
    if weights is not None:
        weights = aligned(weights, ids, "weights")
        check_weighted(pool, weights)
        check_weights(weights, len(flat), table.dtype)
    if padding_idx is not None:
        check_padding(padding_idx, len(table))
    offsets = bags.row_offsets()
    return above(bags, -1, reduce_into(table, flat, weights, padding_idx, offsets, pool, pad_value, out, dtype))


@embedding_bag_grad.kernel("cpu")
def bag_grad(
    table: Dense,
    ids: LoDTensor,
    grad: Dense,
    weights: Dense | None = None,
    /,
    *,
    pool,
    padding_idx,
    is_sparse,
):
    check_padding(padding_idx, len(table))
    bags = check_bag(ids)
    flat = checked_ids(bags.values, len(table))
    rows = values_grad(table, flat, padding_idx, bags.row_offsets(), weights, None, grad, pool)
    return table_grad(table, np.array(flat), rows, padding_idx, is_sparse)


@embedding_bag_weights_grad.kernel("cpu")
def bag_weights_grad(table: Dense, ids: LoDTensor, grad: Dense, weights: Dense, /, *, pool, padding_idx):
    check_weighted(pool, weights)
    check_padding(padding_idx, len(check_rows(table, "table")))
    bags = check_bag(ids)
    flat = checked_ids(bags.values, len(table))
    check_weights(weights, len(flat), table.dtype)
    offsets = bags.row_offsets()
    out = reduce_into(table, flat, weights, padding_idx, offsets, pool, 0.0) if pool == "mean" else None
    return weights_grad(table, flat, padding_idx, offsets, weights, out, grad, pool)
