"""Tables, SelectedRows and sums."""

from __future__ import annotations

import itertools

from ..registry import VarDesc, VarType
from ._types import SlotError, is_selected, op_type, without_last


def _is_array(x):
    """True if a variable is an array of tensors, or the description of one."""
    return isinstance(x, list | tuple) or (isinstance(x, VarDesc) and x.type is VarType.LOD_TENSOR_ARRAY)


def _lookup(ops, table, ids, padding_idx, is_sparse):
    """A table that is SelectedRows has a row for every id but that of padding; its gradient is like its value."""
    padding_idx = None if padding_idx == -1 else padding_idx
    if is_selected(table):
        return {"Out": ops.gather_selected_rows(table, ids, absent="raise", padding_idx=padding_idx)}
    return {"Out": ops.lookup_table(table, ids, padding_idx=padding_idx, is_sparse=is_sparse)}


@op_type
def lookup_table(ops, W, Ids, *, padding_idx=-1, is_sparse=False):
    return _lookup(ops, W, without_last(Ids, "Ids of lookup_table"), padding_idx, is_sparse)


@op_type
def lookup_table_v2(ops, W, Ids, *, padding_idx=-1, is_sparse=False):
    return _lookup(ops, W, Ids, padding_idx, is_sparse)


@op_type
def merge_selected_rows(ops, X):
    return {"Out": ops.merge_selected_rows(X)}


@op_type
def get_tensor_from_selected_rows(ops, X):
    return {"Out": ops.get_tensor_from_selected_rows(X)}


def _total(ops, variables):
    """The sum of some variables; that of SelectedRows lists each row once."""
    total = ops.sum(*variables)
    return ops.merge_selected_rows(total) if is_selected(total) else total


@op_type
def sum(ops, X: list):
    """Arrays of tensors are added element by element, as far as they go."""
    arrays = [_is_array(x) for x in X]
    if not any(arrays):
        return {"Out": _total(ops, X)}
    if not all(arrays):
        raise SlotError(f"sum: X[{arrays.index(False)}] is no array of tensors, as others of X are; pass one kind")
    if isinstance(X[0], VarDesc):
        return {"Out": X[0]}
    steps = itertools.zip_longest(*X)
    return {"Out": [_total(ops, [x for x in step if x is not None]) for step in steps]}
