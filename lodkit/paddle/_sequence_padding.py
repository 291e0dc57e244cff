"""Padding and masks."""

from __future__ import annotations

from ..lod import values_of
from ..registry import DATA_TYPES, VarDesc
from ._types import op_type

_NAMES = {code: name for name, code in DATA_TYPES.items()}


def _width(number):
    """Convert a width: Paddle's -1, the longest length, to None."""
    return None if number == -1 else number


@op_type
def sequence_pad(ops, X, PadValue, *, padded_length=-1):
    out, length = ops.sequence_pad(X, PadValue, padded_length=_width(padded_length))
    return {"Out": out, "Length": length}


@op_type
def sequence_unpad(ops, X, Length):
    out = ops.sequence_unpad(X, Length)
    rank = len(X.dims if isinstance(X, VarDesc) else values_of(X).shape)
    return {"Out": ops.sequence_reshape(out, new_dim=1) if rank == 2 else out}


@op_type
def sequence_mask(ops, X, MaxLenTensor=None, *, maxlen=-1, out_dtype=3):
    if MaxLenTensor is not None:
        maxlen = -1 if isinstance(MaxLenTensor, VarDesc) else int(values_of(MaxLenTensor).reshape(-1)[0])
    maxlen = max(maxlen, -1)  # any negative number means the longest length
    return {"Y": ops.sequence_mask(X, max_length=_width(maxlen), dtype=_NAMES.get(out_dtype, str(out_dtype)))}
