"""CUDA part of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

from ...arrays.cuda import elementwise, vector
from ...ops.sequence_padding import pad_as


@elementwise
def _repeat(i, pad, size, out):
    vector.store(out, i, vector.load(pad, i % size, 1))


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a row for each side."""
    if pad.dtype != dtype and dtype.kind == "i":
        pad = values.send(pad_as(pad.read(), dtype))
    return _repeat.into(values.like((2, *values.shape[1:])), pad, pad.size)
