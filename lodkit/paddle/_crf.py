"""Conditional random fields, and the evaluation of chunks.

Batches are LoDTensors, or padded arrays with the input Length (SeqLength of chunk_eval). Paddle's workspaces Alpha,
EmissionExps and TransitionExps are not returned.
"""

from __future__ import annotations

from ..lod import LoDTensor, values_of
from ..registry import VarDesc
from ._types import op_type, rank, without_last


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
    return {"ViterbiPath": ops.sequence_pad(path, padded_length=None if width == -1 else width)[0]}


@op_type
def chunk_eval(ops, Inference, Label, SeqLength=None, *, num_chunk_types, chunk_scheme="IOB", excluded_chunk_types=()):
    lengths = None if SeqLength is None else _lengths(SeqLength)
    given = ("Inference", Inference), ("Label", Label)
    inference, label = (_labels(ops, x, f"{slot} of chunk_eval", lengths) for slot, x in given)
    attrs = {"num_chunk_types": num_chunk_types, "excluded_chunk_types": excluded_chunk_types}
    outputs = ops.chunk_eval(inference, label, chunk_scheme=chunk_scheme, **attrs)
    slots = "Precision", "Recall", "F1-Score", "NumInferChunks", "NumLabelChunks", "NumCorrectChunks"
    return dict(zip(slots, outputs, strict=True))
