"""Launcher of sequence_center."""

from __future__ import annotations

from ... import ops
from ...jit import simd
from ...lod import LoDTensor
from ...ops.sequence_center import prepare


@ops.sequence_center.kernel("cpu", "cuda")
def sequence_center(on, x: LoDTensor, /, *, level, out=None):
    rows, offsets, dtype = prepare(x, level)
    out = on.output(rows.shape, dtype, out, rows)
    if rows.size:
        compute_dtype = "float32" if dtype == "float16" else None
        means = on.reduce_into(rows, None, None, None, offsets, "mean", 0.0, dtype=compute_dtype)
        on.map_rows(simd.sub, rows, means, offsets, out)
    return x.with_values(out)
