"""The machinery of Paddle's DynamicRNN: rank tables, and arrays of tensors as lists."""

from __future__ import annotations

from ..registry import VarDesc
from ._types import op_type, single_integer


@op_type
def lod_rank_table(ops, X, *, level=0):
    return {"Out": ops.lod_rank_table(X, level=level)}


@op_type
def max_sequence_len(ops, RankTable):
    return {"Out": ops.max_sequence_len(RankTable)}


def _array(found):
    """A tensor array: a list, or the description of one."""
    return found if isinstance(found, VarDesc) else list(found)


@op_type
def lod_tensor_to_array(ops, X, RankTable):
    return {"Out": _array(ops.lod_tensor_to_array(X, RankTable))}


@op_type
def array_to_lod_tensor(ops, X: list, RankTable):
    return {"Out": ops.array_to_lod_tensor(RankTable, *X)}


@op_type
def reorder_lod_tensor_by_rank(ops, X, RankTable):
    return {"Out": ops.reorder_lod_tensor_by_rank(X, RankTable)}


def _number(I):  # noqa: E741  Paddle's name of the slot
    """The number of the step or element; 0 of a description."""
    return single_integer(I, "I") or 0


@op_type
def shrink_rnn_memory(ops, X, RankTable, I):  # noqa: E741
    return {"Out": ops.shrink_rnn_memory(X, RankTable, step=_number(I))}


@op_type
def write_to_array(ops, X, I, Out: list | None = None):  # noqa: E741
    """In a program the array is the output alone, and is changed; here what it was until now is the input Out.

    Elements between its end and I have no rows.
    """
    return {"Out": _array(ops.write_to_array(X, *(Out or ()), index=_number(I), fill=True))}


@op_type
def read_from_array(ops, X: list, I):  # noqa: E741
    return {"Out": ops.read_from_array(*X, index=_number(I))}


@op_type
def lod_array_length(ops, X: list):
    return {"Out": ops.lod_array_length(*X)}
