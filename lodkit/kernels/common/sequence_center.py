"""Launcher of sequence_center."""

from __future__ import annotations

from ... import ops
from ...arrays import native
from ...jit import simd
from ...lod import LoDTensor
from ...ops.sequence_center import prepare


def subtract_means(on, rows, offsets, out):
    """``out = rows - mean`` of their segment, column by column; ``out`` may be wider than ``rows``. Returns it.

    Far from 0 a mean is rounded by more than the rows differ: the differences from it have a mean of their own, which
    is subtracted too. Those of float16 are in float32, and exact enough.
    """
    half = native(rows.dtype) == "float16"
    for source in (rows,) if half else (rows, out):
        means = on.reduce_into(source, None, None, None, offsets, "mean", 0.0, dtype="float32" if half else None)
        on.map_rows(simd.sub, source, means, offsets, out)
    return out


@ops.sequence_center.kernel("cpu", "cuda")
def sequence_center(on, x: LoDTensor, /, *, level, out=None):
    rows, offsets, dtype = prepare(x, level)
    out = on.output(rows.shape, dtype, out, rows)
    return x.with_values(subtract_means(on, rows, offsets, out) if rows.size else out)
