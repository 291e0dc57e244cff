"""Beam search and the walk back through its steps."""

from __future__ import annotations

from ..lod import values_of
from ..registry import VarDesc
from ._types import SlotError, as_int32, op_type


def _column(x):
    """Numbers of prefixes, of shape (1, prefixes), as a column: Paddle reads them as they lie."""
    if isinstance(x, VarDesc):
        return x.but(dims=(*reversed(x.dims),)) if len(x.dims) == 2 and not x.lod_level and x.dims[1] != 1 else x
    values = values_of(x)
    return values.reshape(-1, 1) if len(values.shape) == 2 and values.shape[0] == 1 else x


@op_type
def beam_search(ops, pre_ids, pre_scores, scores, ids=None, *, beam_size, end_id, level=0, is_accumulated=True):
    """Of equal scores those of the later prefix, and in it of the later candidate, are selected."""
    pre_ids, pre_scores = _column(pre_ids), _column(pre_scores)
    attrs = {"level": level, "beam_size": beam_size, "end_id": end_id, "is_accumulated": is_accumulated}
    selected_ids, selected_scores, parents = ops.beam_search(pre_ids, pre_scores, ids, scores, **attrs)
    return {"selected_ids": selected_ids, "selected_scores": selected_scores, "parent_idx": as_int32(parents)}


@op_type
def beam_search_decode(ops, Ids: list, Scores: list, *, beam_size, end_id):
    if len(Ids) != len(Scores):
        raise SlotError(f"beam_search_decode: Ids has {len(Ids)} steps, Scores {len(Scores)}; pass as many")
    words, totals = ops.beam_search_decode(*Ids, *Scores, beam_size=beam_size, end_id=end_id)
    return {"SentenceIds": words, "SentenceScores": totals}
