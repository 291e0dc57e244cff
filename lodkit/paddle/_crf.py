"""Conditional random fields, the evaluation of chunks, and beam search with the walk back through its steps.

Batches are LoDTensors, or padded arrays with the input Length (SeqLength of chunk_eval). Paddle's workspaces Alpha,
EmissionExps and TransitionExps are not returned.
"""

from __future__ import annotations

from ..lod import LoDTensor, values_of
from ..registry import VarDesc
from ._types import SlotError, as_int32, op_type, rank, without_last


def _lengths(x):
    """Lengths, of shape (sequences, 1) or (sequences,)."""
    return x.but(dims=x.dims[:1]) if isinstance(x, VarDesc) else values_of(x).reshape(-1)


def _labels(ops, x, slot, lengths):
    """One number per step, of sequences or of padded rows."""
    x = without_last(x, slot) if rank(x) == (2 if lengths is None else 3) else x
    return x if lengths is None else ops.sequence_unpad(x, lengths)


def _column(x):
    """A row for each number."""
    if isinstance(x, VarDesc):
        return x.but(dims=(*x.dims, 1))
    values = values_of(x).reshape(-1, 1)
    return x.with_values(values) if isinstance(x, LoDTensor) else values


@op_type
def linear_chain_crf(ops, Emission, Transition, Label, Length=None):
    lengths = None if Length is None else _lengths(Length)
    emission = Emission if Length is None else ops.sequence_unpad(Emission, lengths)
    label = _labels(ops, Label, "Label of linear_chain_crf", lengths)
    return {"LogLikelihood": _column(ops.linear_chain_crf(emission, Transition, label))}


@op_type
def crf_decoding(ops, Emission, Transition, Label=None, Length=None):
    """With Label 1 where it is the tag, else 0; of padded rows 0 behind the sequences, whatever Label has there."""
    lengths = None if Length is None else _lengths(Length)
    label = None if Label is None else _labels(ops, Label, "Label of crf_decoding", lengths)
    if Length is None:
        return {"ViterbiPath": _column(ops.crf_decoding(Emission, Transition, label))}
    path = ops.crf_decoding(ops.sequence_unpad(Emission, lengths), Transition, label)
    width = Emission.dims[1] if isinstance(Emission, VarDesc) else values_of(Emission).shape[1]
    return {"ViterbiPath": ops.sequence_pad(path, max_length=None if width == -1 else width)[0]}


@op_type
def chunk_eval(ops, Inference, Label, SeqLength=None, *, num_chunk_types, chunk_scheme="IOB", excluded_chunk_types=()):
    lengths = None if SeqLength is None else _lengths(SeqLength)
    given = ("Inference", Inference), ("Label", Label)
    inference, label = (_labels(ops, x, f"{slot} of chunk_eval", lengths) for slot, x in given)
    attrs = {"num_chunk_types": num_chunk_types, "excluded_chunk_types": excluded_chunk_types}
    outputs = ops.chunk_eval(inference, label, chunk_scheme=chunk_scheme, **attrs)
    slots = "Precision", "Recall", "F1-Score", "NumInferChunks", "NumLabelChunks", "NumCorrectChunks"
    return dict(zip(slots, outputs, strict=True))


def _as_column_of_prefixes(x):
    """Numbers of prefixes, of shape (1, prefixes), as a column: Paddle reads them as they lie."""
    if isinstance(x, VarDesc):
        return x.but(dims=(*reversed(x.dims),)) if len(x.dims) == 2 and not x.lod_level and x.dims[1] != 1 else x
    values = values_of(x)
    return values.reshape(-1, 1) if len(values.shape) == 2 and values.shape[0] == 1 else x


@op_type
def beam_search(ops, pre_ids, pre_scores, scores, ids=None, *, beam_size, end_id, level=0, is_accumulated=True):
    """Of equal scores those of the later prefix, and in it of the later candidate, are selected."""
    pre_ids, pre_scores = _as_column_of_prefixes(pre_ids), _as_column_of_prefixes(pre_scores)
    attrs = {"level": level, "beam_size": beam_size, "end_id": end_id, "is_accumulated": is_accumulated}
    selected_ids, selected_scores, parents = ops.beam_search(pre_ids, pre_scores, ids, scores, **attrs)
    return {"selected_ids": selected_ids, "selected_scores": selected_scores, "parent_idx": as_int32(parents)}


@op_type
def beam_search_decode(ops, Ids: list, Scores: list, *, beam_size, end_id):
    if len(Ids) != len(Scores):
        raise SlotError(f"beam_search_decode: Ids has {len(Ids)} steps, Scores {len(Scores)}; pass as many")
    words, totals = ops.beam_search_decode(*Ids, *Scores, beam_size=beam_size, end_id=end_id)
    return {"SentenceIds": words, "SentenceScores": totals}
