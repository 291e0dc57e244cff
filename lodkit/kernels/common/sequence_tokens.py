"""Launchers of lodkit/ops/sequence_tokens.py that serve both devices."""

from __future__ import annotations

import numpy as np

from ...arrays import integers
from ...ops import sequence_tokens as ops


@ops.sequence_contains.kernel("cpu", "cuda")
def sequence_contains(on, x, /, *, tokens, level):
    tokens, offsets = ops.prepare_contains(x.values, tokens), x._row_offsets(level)
    if not len(tokens) or not x.values.size:
        return np.zeros(len(offsets) - 1, bool)
    ids = on.convert(x.values.reshape(x.values.size), np.dtype(np.int64))
    at = on.selected_rows.find(ids, on.send(ids, integers(tokens, "tokens")))
    return on.read(on.reduce_into(at, None, None, None, offsets, "max", -1)) >= 0
