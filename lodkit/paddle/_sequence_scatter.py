"""Scatter by sequences."""

from __future__ import annotations

from ._types import op_type, without_last


@op_type
def sequence_scatter(ops, X, Ids, Updates):
    return {"Out": ops.sequence_scatter(X, without_last(Ids, "Ids of sequence_scatter"), Updates)}
