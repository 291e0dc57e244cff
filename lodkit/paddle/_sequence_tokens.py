"""Sequences of tokens."""

from __future__ import annotations

from ._types import op_type


@op_type
def sequence_erase(ops, X, *, tokens):
    return {"Out": ops.sequence_erase(X, tokens=tokens)}


@op_type
def sequence_enumerate(ops, X, *, win_size, pad_value=0):
    return {"Out": ops.sequence_enumerate(X, win_size=win_size, pad_value=pad_value)}
