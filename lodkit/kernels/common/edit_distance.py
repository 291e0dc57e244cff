"""Kernel of lodkit/ops/edit_distance.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...lod import LoDTensor
from ...ops.edit_distance import prepare_distance
from ...ops.sequence_pool import with_outer_levels


@ops.edit_distance.kernel("cpu", "cuda")
def edit_distance(on, hyp: LoDTensor, ref: LoDTensor, /, *, normalized, ignored_tokens, out=None):
    ignored, like = prepare_distance(hyp, ref, ignored_tokens), ref.values
    if len(ignored):
        hyp, ref = (on.sequence_tokens.sequence_erase(x, tokens=ignored) for x in (hyp, ref))
    out = on.output((len(ref._row_offsets()) - 1,), np.dtype(np.float32), out, like)
    if len(out):
        pair = [on.convert(on.integers(x.values, "tokens"), np.dtype(np.int64)) for x in (hyp, ref)]
        a, b = (x.reshape(x.size) for x in pair)
        on.edit_distance.distances(a, hyp._row_offsets(), b, ref._row_offsets(), normalized, out)
    return with_outer_levels(ref, -1, out)
