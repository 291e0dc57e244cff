"""Connectionist temporal classification and edit distance; padded inputs come with the lengths of their sequences.

Sequences are those of level 0. Where nothing is left of a whole batch, ctc_align gives one row, -1, and lengths of 0,
which operators refuse; lodkit.ctc_align gives no rows. The output WarpCTCGrad, which Paddle's gradient reads, is not
there.
"""

from __future__ import annotations

import numpy as np

from ..arrays import device_of, to_device
from ..base.errors import LoDError
from ..lod import LoDTensor, values_of
from ..registry import VarDesc
from ._types import op_type, vector, width


def _column(x):
    """One number per sequence, of shape (sequences, 1)."""
    return x.but(dims=(x.dims[0], 1), lod_level=0) if isinstance(x, VarDesc) else values_of(x).reshape(-1, 1)


@op_type
def warpctc(ops, Logits, Label, LogitsLength=None, LabelLength=None, *, blank=0, norm_by_times=False):
    """``norm_by_times`` divides only the gradient; the loss of labels that frames are too few for is 0."""
    if LogitsLength is not None:  # time comes first
        lengths = vector(LogitsLength)
        Logits = ops.lod_reset(ops.unpack_rnn_sequence(Logits, lengths), lengths)
    if LabelLength is not None:
        Label = ops.sequence_unpad(Label, vector(LabelLength))
    attrs = {"blank": blank, "norm_by_times": "gradient" if norm_by_times else False, "zero_infinity": True}
    return {"Loss": _column(ops.ctc_loss(Logits, Label, level=0, **attrs))}


@op_type
def ctc_align(ops, Input, InputLength=None, *, blank=0, merge_repeated=True, padding_value=0):
    if InputLength is None:
        out = ops.ctc_align(Input, blank=blank, merge_repeated=merge_repeated)
        return {"Output": out if isinstance(out, VarDesc) or len(out.values) else _nothing(out)}
    x = ops.sequence_unpad(Input, vector(InputLength))
    found = ops.ctc_align(x, blank=blank, merge_repeated=merge_repeated)
    inferred = isinstance(x, VarDesc)
    pad, longest = (None, Input.dims[1]) if inferred else (padding_value, values_of(Input).shape[1])
    out, lengths = ops.sequence_pad(found, pad, max_length=width(longest))
    return {"Output": out, "OutputLength": _column(lengths)}


def _nothing(x):
    """A row of -1 where no sequence has one. Paddle's lengths are 0 above it, which no check would take."""
    row = np.asarray([-1], x.dtype).reshape(1, *x.shape[1:])
    return LoDTensor._wrap(to_device(row, device_of(x.values)), x._lod)


@op_type
def edit_distance(ops, Hyps, Refs, HypsLength=None, RefsLength=None, *, normalized=False):
    """With ``normalized``, an empty reference raises."""
    if HypsLength is not None:
        Hyps = ops.sequence_unpad(Hyps, vector(HypsLength))
    if RefsLength is not None:
        Refs = ops.sequence_unpad(Refs, vector(RefsLength))
    if normalized and isinstance(Refs, LoDTensor) and 0 in Refs.lengths():
        s = Refs.lengths().tolist().index(0)
        raise LoDError(f"edit_distance: sequence {s} of Refs is empty, and normalized divides by its length; remove it")
    found = _column(ops.edit_distance(Hyps, Refs, normalized=normalized))
    if isinstance(found, VarDesc):
        return {"Out": found, "SequenceNum": found.but(dims=(1,), dtype=np.dtype(np.int64))}
    return {"Out": found, "SequenceNum": np.asarray([len(found)], np.int64)}
