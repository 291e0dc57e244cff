"""Arithmetic within sequences."""

from __future__ import annotations

from ._types import op_type


@op_type
def sequence_softmax(ops, X, *, use_cudnn=False, data_format="AnyLayout", use_mkldnn=False):
    return {"Out": ops.sequence_softmax(X)}


@op_type
def add_position_encoding(ops, X, *, alpha=1.0, beta=1.0):
    return {"Out": ops.add_position_encoding(X, alpha=alpha, beta=beta)}
