"""Launchers of lodkit/ops/sequence_tokens.py that serve both devices."""

from __future__ import annotations

import numpy as np

from ...ops import sequence_tokens as ops
from .integers import comparable_tokens, to_comparable


@ops.sequence_contains.kernel("cpu", "cuda")
def sequence_contains(on, x, /, *, tokens, level):
    tokens, offsets = ops.prepare_contains(x.values, tokens), x._row_offsets(level)
    if not len(tokens) or not x.values.size:
        return np.zeros(len(offsets) - 1, bool)
    ids = on.convert(to_comparable(on, x.values.reshape(x.values.size)), np.dtype(np.int64))
    tokens = comparable_tokens(tokens, x.values.dtype)
    if not len(tokens):
        return np.zeros(len(offsets) - 1, bool)
    at = on.selected_rows.find(ids, on.send(ids, tokens))
    return on.read(on.reduce_into(at, None, None, None, offsets, "max", -1)) >= 0
