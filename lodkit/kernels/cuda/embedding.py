"""CUDA kernels of lodkit/ops/embedding.py."""

from __future__ import annotations

from ...arrays import check_gradient, check_rows, check_values
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.memory import output, view
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
from .primitives.offsets import offsets_like
from .segments import reduce_into
from .selected_rows import table_grad


@lookup_table.kernel("cuda")
def lookup(table: Dense, ids: Dense, /, *, padding_idx, is_sparse=True, out=None):
    table = check_rows(view(table), "table")
    dtype = check_values(table.dtype, "lookup_table")
    check_padding(padding_idx, len(table))
    ids = checked_ids(ids, len(table))
    out = output(table, ids.shape + table.shape[1:], dtype, out)
    copy_rows(table, ids, padding_idx, out)
    return out.array


@lookup_table_grad.kernel("cuda")
def lookup_grad(table: Dense, ids: Dense, grad: Dense, /, *, padding_idx, is_sparse):
    table = view(table)
    check_values(table.dtype, "the gradient", floating=True)
    check_padding(padding_idx, len(table))
    ids, grad = checked_ids(ids, len(table)), view(grad)
    check_gradient(grad, ids.shape + table.shape[1:])
    return table_grad(table, ids, grad, padding_idx, is_sparse)


@embedding_bag.kernel("cuda")
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
    table, bags = check_rows(view(table), "table"), check_bag(ids)
    flat = checked_ids(bags.values, len(table))
    if weights is not None:
        weights = view(aligned(weights, ids, "weights"))
        check_weighted(pool, weights)
        check_weights(weights, len(flat), table.dtype)
    check_padding(padding_idx, len(table))
    offsets = offsets_like(table, bags.row_offsets())
    out = reduce_into(table, flat, weights, padding_idx, offsets, pool, pad_value, out, dtype)
    return above(bags, -1, out.array)


@embedding_bag_grad.kernel("cuda")
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
    table, bags = view(table), check_bag(ids)
    check_padding(padding_idx, len(table))
    flat, weights = checked_ids(bags.values, len(table)), None if weights is None else view(weights)
    offsets = offsets_like(table, bags.row_offsets())
    rows = values_grad(table, flat, padding_idx, offsets, weights, None, grad, pool)
    return table_grad(table, flat, rows, padding_idx, is_sparse)


@embedding_bag_weights_grad.kernel("cuda")
def bag_weights_grad(table: Dense, ids: LoDTensor, grad: Dense, weights: Dense, /, *, pool, padding_idx):
    table, bags, weights = check_rows(view(table), "table"), check_bag(ids), view(weights)
    check_weighted(pool, weights)
    check_padding(padding_idx, len(table))
    flat = checked_ids(bags.values, len(table))
    check_weights(weights, len(flat), table.dtype)
    offsets = offsets_like(table, bags.row_offsets())
    out = reduce_into(table, flat, weights, padding_idx, offsets, pool, 0.0) if pool == "mean" else None
    return weights_grad(table, flat, padding_idx, offsets, weights, out, grad, pool).array
