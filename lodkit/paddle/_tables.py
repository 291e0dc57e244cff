"""Tables, SelectedRows and sums."""

from __future__ import annotations

from ._types import op_type, without_last


def _lookup(ops, table, ids, padding_idx, is_sparse):
    padding_idx = None if padding_idx == -1 else padding_idx
    return {"Out": ops.lookup_table(table, ids, padding_idx=padding_idx, is_sparse=is_sparse)}


@op_type
def lookup_table(ops, W, Ids, *, padding_idx=-1, is_sparse=False, is_distributed=False, remote_prefetch=False):
    return _lookup(ops, W, without_last(Ids, "Ids of lookup_table"), padding_idx, is_sparse)


@op_type
def lookup_table_v2(ops, W, Ids, *, padding_idx=-1, is_sparse=False, is_distributed=False, remote_prefetch=False):
    return _lookup(ops, W, Ids, padding_idx, is_sparse)


@op_type
def merge_selected_rows(ops, X):
    return {"Out": ops.merge_selected_rows(X)}


@op_type
def get_tensor_from_selected_rows(ops, X):
    return {"Out": ops.get_tensor_from_selected_rows(X)}


@op_type
def sum(ops, X: list, *, use_mkldnn=False):
    return {"Out": ops.sum(*X)}
