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
        compute_dtype, source = "float32" if dtype == "float16" else None, rows
        # Far from 0 a mean is rounded by more than the rows differ: the differences from it have a mean of their own.
        for _ in range(1 if compute_dtype else 2):
            means = on.reduce_into(source, None, None, None, offsets, "mean", 0.0, dtype=compute_dtype)
            on.map_rows(simd.sub, source, means, offsets, out)
            source = out
    return x.with_values(out)
