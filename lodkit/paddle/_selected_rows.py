"""SelectedRows and sums."""

from __future__ import annotations

from ._types import listed, op_type


@op_type
def merge_selected_rows(ops, X):
    return {"Out": ops.merge_selected_rows(X)}


@op_type
def get_tensor_from_selected_rows(ops, X):
    return {"Out": ops.get_tensor_from_selected_rows(X)}


@op_type
def sum(ops, X, *, use_mkldnn=False):
    return {"Out": ops.sum(*listed(X))}
