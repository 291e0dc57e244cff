"""Kernel of lodkit/ops/sequence_cumsum.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...lod import LoDTensor
from ...ops.sequence_cumsum import sum_dtype
from .integers import needs_integers, to_summed


@ops.sequence_cumsum.kernel("cpu", "cuda")
def sequence_cumsum(on, x: LoDTensor, /, *, exclusive, reverse, level, out=None):
    values, offsets = x.values, x._row_offsets(level)
    out = on.output(values.shape, sum_dtype(values.dtype), out, values)
    if values.size:
        given, sums = values, out
        if needs_integers(values.dtype):
            given, sums = to_summed(on, values), on.view_as(out, np.dtype(np.int64))
        on.sequence_cumsum.cumsum(given, offsets, bool(exclusive), bool(reverse), sums)
    return x.with_values(out)
