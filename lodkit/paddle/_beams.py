"""Beam search and the walk back through its steps."""

from __future__ import annotations

from ._types import SlotError, as_int32, listed, op_type


@op_type
def beam_search(ops, pre_ids, pre_scores, scores, ids=None, *, beam_size, end_id, level=0, is_accumulated=True):
    """Of equal scores those of the later prefix, and in it of the later candidate, are selected."""
    attrs = {"level": level, "beam_size": beam_size, "end_id": end_id, "is_accumulated": is_accumulated}
    selected_ids, selected_scores, parents = ops.beam_search(pre_ids, pre_scores, ids, scores, **attrs)
    return {"selected_ids": selected_ids, "selected_scores": selected_scores, "parent_idx": as_int32(parents)}


@op_type
def beam_search_decode(ops, Ids, Scores, *, beam_size, end_id):
    ids, scores = listed(Ids), listed(Scores)
    if len(ids) != len(scores):
        raise SlotError(f"beam_search_decode: Ids has {len(ids)} steps, Scores {len(scores)}; pass as many")
    words, totals = ops.beam_search_decode(*ids, *scores, beam_size=beam_size, end_id=end_id)
    return {"SentenceIds": words, "SentenceScores": totals}
