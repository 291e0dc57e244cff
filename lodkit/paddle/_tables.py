"""Table lookups."""

from __future__ import annotations

from ._types import op_type, without_last


def _lookup(ops, table, ids, padding_idx, is_sparse):
    return {
        "Out": ops.lookup_table(table, ids, padding_idx=None if padding_idx == -1 else padding_idx, is_sparse=is_sparse)
    }


@op_type
def lookup_table(ops, W, Ids, *, padding_idx=-1, is_sparse=False, is_distributed=False, remote_prefetch=False):
    return _lookup(ops, W, without_last(Ids, "Ids of lookup_table"), padding_idx, is_sparse)


@op_type
def lookup_table_v2(ops, W, Ids, *, padding_idx=-1, is_sparse=False, is_distributed=False, remote_prefetch=False):
    return _lookup(ops, W, Ids, padding_idx, is_sparse)
