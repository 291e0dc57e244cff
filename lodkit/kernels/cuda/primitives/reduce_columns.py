"""Bags of many tables, each reduced by the kernel of one, then put side by side."""

from __future__ import annotations

from ....arrays.cuda import checked_ids
from ..columns import join_columns
from .reduce import reduce_into


def reduce_columns(bags, padding_idx, reduce, pad_value, dtype, out):
    """Reduce the ids of each column, of ``Bags``, into its columns of ``out``."""
    parts = []
    for k, table, ids, weights, offsets, _ in bags.columns:
        checked_ids(ids, len(table), bags.label(k))
        parts.append(reduce_into(table, ids, weights, padding_idx, offsets, reduce, pad_value, None, dtype))
    join_columns(parts, [part.columns for part in parts], out)
