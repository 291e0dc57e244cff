"""The machinery of Paddle's DynamicRNN: rank tables, and arrays of tensors as lists."""

from __future__ import annotations

from ..arrays import flat
from ..lod import values_of
from ..registry import VarDesc
from ._types import listed, op_type


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
def array_to_lod_tensor(ops, X, RankTable):
    return {"Out": ops.array_to_lod_tensor(RankTable, *listed(X))}


@op_type
def reorder_lod_tensor_by_rank(ops, X, RankTable):
    return {"Out": ops.reorder_lod_tensor_by_rank(X, RankTable)}


def _number(I):  # noqa: E741  Paddle's name of the slot
    """The one number of a slot; descriptions have none."""
    return 0 if isinstance(I, VarDesc) else int(flat(values_of(I))[0])


@op_type
def shrink_rnn_memory(ops, X, RankTable, I):  # noqa: E741
    return {"Out": ops.shrink_rnn_memory(X, RankTable, step=_number(I))}


@op_type
def write_to_array(ops, X, I, Out=()):  # noqa: E741
    """In a program the array is the output alone, and is changed; here what it was until now is the input Out."""
    return {"Out": _array(ops.write_to_array(X, *listed(Out), index=_number(I)))}


@op_type
def read_from_array(ops, X, I):  # noqa: E741
    return {"Out": ops.read_from_array(*listed(X), index=_number(I))}


@op_type
def lod_array_length(ops, X):
    return {"Out": ops.lod_array_length(*listed(X))}
