"""Kernel of lodkit/ops/sequence_cumsum.py."""

from __future__ import annotations

from ... import ops
from ...lod import LoDTensor
from ...ops.sequence_cumsum import sum_dtype


@ops.sequence_cumsum.kernel("cpu", "cuda")
def sequence_cumsum(on, x: LoDTensor, /, *, exclusive, reverse, level, out=None):
    values, offsets = x.values, x._row_offsets(level)
    out = on.output(values.shape, sum_dtype(values.dtype), out, values)
    if values.size:
        on.sequence_cumsum.cumsum(values, offsets, bool(exclusive), bool(reverse), out)
    return x.with_values(out)
