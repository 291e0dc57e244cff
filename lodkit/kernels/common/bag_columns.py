"""Kernels of lodkit/ops/bag_columns.py: checked inputs in front of the reductions of a device, into columns."""

from __future__ import annotations

from ...lod import LoDTensor
from ...ops import bag_columns as ops
from ...registry import Dense


@ops.embedding_bag_columns.kernel("cpu", "cuda")
def embedding_bag_columns(on, *xs: Dense | LoDTensor, tables, names, pool, pad_value, padding_idx, is_sparse, dtype):
    found = ops.prepare_columns(on, xs, tables, names, pool, padding_idx, dtype)
    out = on.output(found.shape, found.dtype, None, xs[0])
    on.bag_columns.reduce_columns(found, padding_idx, pool, pad_value, dtype, out)
    return out
