"""CUDA part of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

from ...arrays.cuda import vector
from ...arrays.cuda.launch import cuda, launch
from ...ops.sequence_padding import pad_as


@cuda.jit
def _repeat(pad, size, n, out):
    i = cuda.grid(1)
    while i < n:
        vector.store(out, i, vector.load(pad, i % size, 1))
        i += cuda.gridsize(1)


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a row for each side."""
    if pad.dtype != dtype and dtype.kind == "i":
        pad = values.send(pad_as(pad.read(), dtype))
    rows = values.like((2, *values.shape[1:]))
    launch(_repeat, rows.size, pad, pad.size, rows.size, rows)
    return rows
