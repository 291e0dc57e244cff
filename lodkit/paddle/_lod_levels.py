"""Replaced levels, and batches split and merged by a mask."""

from __future__ import annotations

from ._types import op_type


@op_type
def lod_reset(ops, X, Y=None, *, target_lod=(), append=False):
    if Y is None:
        return {"Out": ops.lod_reset(X, target_lod=target_lod, append=append)}
    if getattr(Y, "lod_level", 0):
        return {"Out": ops.lod_reset(X, Y)}  # all levels of Y, regardless of append
    return {"Out": ops.lod_reset(X, ops.offsets_to_lengths(Y), append=append)}


@op_type
def sequence_reshape(ops, X, *, new_dim):
    return {"Out": ops.sequence_reshape(X, new_dim=new_dim)}


@op_type
def split_lod_tensor(ops, X, Mask, *, level=0):
    out_true, out_false = ops.split_lod_tensor(X, Mask, level=level)
    return {"OutTrue": out_true, "OutFalse": out_false}


@op_type
def merge_lod_tensor(ops, X, Mask, InTrue, InFalse, *, level=0):
    """X is ignored: levels come from InTrue and InFalse."""
    return {"Out": ops.merge_lod_tensor(InTrue, InFalse, Mask, level=level)}
