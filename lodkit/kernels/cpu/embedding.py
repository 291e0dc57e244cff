"""CPU kernel of lodkit/ops/embedding.py for a few bags."""

from __future__ import annotations

from ...lod import LoDTensor
from ...ops import embedding as ops
from ...registry import Dense
from ..common import embedding as common
from .primitives import device
from .primitives.few import is_vector
from .primitives.reduce import reduce_few


@ops.embedding_bag.kernel("cpu")
def embedding_bag(
    table,
    ids: LoDTensor,
    weights: Dense | LoDTensor | None,
    /,
    *,
    pool,
    pad_value,
    padding_idx,
    is_sparse,
    dtype,
    out=None,
):
    levels, flat = ids._lod, ids._values
    if weights is None and padding_idx is None and out is None and len(levels) == 1 and is_vector(flat):
        made = reduce_few(table, flat, levels[0], pool, pad_value, dtype)
        if made is not None:
            return made
    attrs = {"pool": pool, "pad_value": pad_value, "padding_idx": padding_idx, "is_sparse": is_sparse, "dtype": dtype}
    return common.embedding_bag(device, table, ids, weights, **attrs, out=out)
