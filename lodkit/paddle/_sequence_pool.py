"""Pooling of sequences."""

from __future__ import annotations

from ._types import as_int32, op_type

POOLS = {"SUM": "sum", "AVERAGE": "average", "SQRT": "sqrt", "MAX": "max", "LAST": "last", "FIRST": "first"}


@op_type
def sequence_pool(ops, X, *, pooltype="AVERAGE", pad_value=0.0, is_test=False):
    if pooltype not in POOLS:
        raise ValueError(f"pooltype must be one of {', '.join(POOLS)}, got {pooltype!r}")
    if pooltype != "MAX":
        return {"Out": ops.sequence_pool(X, pool=POOLS[pooltype], pad_value=pad_value)}
    out, index = ops.sequence_pool(X, pool="max", pad_value=pad_value, return_index=True)
    return {"Out": out, "MaxIndex": as_int32(index)}
