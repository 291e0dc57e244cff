"""Convolutions along sequences."""

from __future__ import annotations

from ._types import SlotError, op_type


@op_type
def sequence_conv(
    ops, X, Filter, PaddingData=None, *, contextLength, contextStart=0, contextStride=1, paddingTrainable=False
):
    if contextStride != 1:
        raise ValueError(f"contextStride must be 1, got {contextStride}")
    if paddingTrainable and PaddingData is None:
        raise SlotError("sequence_conv with paddingTrainable needs the input PaddingData")
    padding = PaddingData if paddingTrainable else None
    return {"Out": ops.sequence_conv(X, Filter, padding, context_start=contextStart, context_length=contextLength)}


@op_type
def row_conv(ops, X, Filter):
    return {"Out": ops.row_conv(X, Filter)}
