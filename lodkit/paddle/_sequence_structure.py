"""Sequences expanded, reversed, sliced and concatenated."""

from __future__ import annotations

from ..arrays import flat
from ..lod import values_of
from ..registry import VarDesc
from ._types import listed, op_type


@op_type
def sequence_expand(ops, X, Y, *, ref_level=-1):
    return {"Out": ops.sequence_expand(X, Y, ref_level=ref_level)}


@op_type
def sequence_expand_as(ops, X, Y):
    return {"Out": ops.sequence_expand_as(X, Y)}


@op_type
def sequence_reverse(ops, X):
    return {"Y": ops.sequence_reverse(X)}


def _vector(x):
    """Flatten one number per sequence, of shape (sequences, 1) in Paddle."""
    return x.but(dims=x.dims[:1]) if isinstance(x, VarDesc) else flat(values_of(x))


@op_type
def sequence_slice(ops, X, Offset, Length):
    return {"Out": ops.sequence_slice(X, _vector(Offset), _vector(Length), by="lengths", wrap=False)}


@op_type
def sequence_concat(ops, X, *, axis=0, level=None):
    """Concatenate outermost sequences; ``level``, of early versions, counts from the innermost."""
    return {"Out": ops.sequence_concat(*listed(X), axis=axis, level=0 if level is None else -1 - level)}
