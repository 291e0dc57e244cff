"""Kernels of lodkit/ops/embedding.py: checked inputs in front of the shared gather and reduction."""

from __future__ import annotations

from ...arrays import FLOATS
from ...lod import LoDTensor, values_of
from ...ops import embedding as ops
from ...ops.shared.reductions import WEIGHTED
from ...registry import Dense, Ids


def _lookup_loops(on, table, ids, /, **attrs):
    return [on.gather_loop(table, values_of(ids))]


def _bag_loops(on, table, ids, weights, /, *, pool, padding_idx, dtype, **attrs):
    return [on.reduce_loop(pool, table, ids._values, weights, padding_idx, ids._row_offsets(), dtype)]


def _specialize_bags(on, table, ids, weights, /, *, pool, dtype, is_sparse):
    takes_weights = table.dtype in FLOATS and pool in WEIGHTED
    if weights is not None and not (takes_weights and weights.dtype is table.dtype):
        return None
    reduce_bags = on.specialize_reduction(table, True, weights, pool, dtype)

    def reduce_weighted_bags(table, flat, offsets, weights, pad_value, padding_idx, out=None):
        if weights.shape != flat.shape or not weights.flags.c_contiguous:
            return NotImplemented
        return reduce_bags(table, flat, offsets, weights, pad_value, padding_idx, out)

    return reduce_bags if weights is None or reduce_bags is None else reduce_weighted_bags


@ops.lookup_table.kernel("cpu", "cuda", choose_loops=_lookup_loops)
def lookup_table(on, table, ids: Ids, /, *, padding_idx, is_sparse=True, out=None):
    dtype = ops.prepare_lookup(table, padding_idx)
    if out is not None:
        ids = on.ids_in_range(ids, len(table))
        out = on.output(ids.shape + table.shape[1:], dtype, out, table)
    return on.gather(table, ids, padding_idx, out, unchecked=True)


@ops.lookup_table_grad.kernel("cpu", "cuda")
def lookup_table_grad(on, table, ids, grad, /, *, padding_idx, is_sparse):
    ids, grad = ops.prepare_lookup_grad(on, table, ids, grad, padding_idx)
    return on.table_grad(table, ids, grad, padding_idx, is_sparse)


@ops.embedding_bag.kernel("cpu", "cuda", choose_loops=_bag_loops, specialize=_specialize_bags)
def embedding_bag(
    on,
    table,
    ids: Ids,
    weights: Dense | LoDTensor | None,
    /,
    *,
    pool,
    pad_value,
    padding_idx,
    is_sparse,
    dtype,
    out=None,
):
    flat, bags = ids
    if weights is not None or padding_idx is not None or not table.ndim:
        weights = ops.prepare_weights(table, bags, flat, weights, pool, padding_idx)
    levels = bags._lod
    out = on.reduce_into(table, flat, weights, padding_idx, levels[-1], pool, pad_value, out, dtype, unchecked=True)
    return out if len(levels) == 1 else ops.with_outer_levels(bags, -1, out)


@ops.embedding_bag_grad.kernel("cpu", "cuda")
def embedding_bag_grad(on, table, ids: LoDTensor, grad, weights, /, *, pool, padding_idx, is_sparse):
    bags, flat, weights = ops.prepare_bag(on, table, ids, weights, pool, padding_idx)
    offsets = bags._row_offsets()
    rows = on.values_grad(table, flat, padding_idx, offsets, weights, None, grad, pool)
    return on.table_grad(table, flat, rows, padding_idx, is_sparse)


@ops.embedding_bag_weights_grad.kernel("cpu", "cuda")
def embedding_bag_weights_grad(on, table, ids: LoDTensor, grad, weights, /, *, pool, padding_idx):
    bags, flat, weights = ops.prepare_bag(on, table, ids, weights, pool, padding_idx)
    offsets = bags._row_offsets()
    out = on.reduce_into(table, flat, weights, padding_idx, offsets, pool, 0.0) if pool == "mean" else None
    return on.weights_grad(table, flat, padding_idx, offsets, weights, out, grad, pool)
