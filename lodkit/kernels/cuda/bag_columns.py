"""CUDA part of lodkit/ops/bag_columns.py: the kernel of one table for each, then the results side by side."""

from __future__ import annotations

from ...arrays.cuda import checked_ids
from ...ops.bag_columns import own_ids
from .columns import join_columns
from .primitives import device
from .primitives.reduce import reduce_into


def reduce_columns(bags, padding_idx, reduce, pad_value, dtype, out):
    """Reduce the ids of each column, of ``Bags``, into its columns of ``out``."""
    parts = []
    for column in bags.columns:
        k, table, _, weights, *_ = column
        ids, offsets = own_ids(device, column)
        checked_ids(ids, len(table), bags.label(k))
        parts.append(reduce_into(table, ids, weights, padding_idx, offsets, reduce, pad_value, None, dtype))
    join_columns(parts, [part.columns for part in parts], out)
