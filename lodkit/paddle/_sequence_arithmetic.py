"""Arithmetic inside sequences."""

from __future__ import annotations

from ._types import op_type


@op_type
def sequence_softmax(ops, X, *, use_cudnn=False, data_format="AnyLayout", use_mkldnn=False):
    return {"Out": ops.sequence_softmax(X)}
