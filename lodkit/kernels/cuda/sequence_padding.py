"""CUDA part of lodkit/ops/sequence_padding.py."""

from __future__ import annotations

import numpy as np

from ...arrays import VALUE_TYPES
from ...arrays.cuda import elementwise, vector
from ...ops.sequence_padding import pad_as


@elementwise
def _repeat(i, pad, size, out):
    vector.store(out, i, vector.load(pad, i % size, 1))


def pads(pad, values, dtype):
    """Padding for ``copy_runs``: a row for each side."""
    if dtype.kind != "f" and (pad.dtype != dtype or dtype not in VALUE_TYPES):
        item = np.broadcast_to(pad_as(pad.read(), dtype), (2, *values.shape[1:]))
        return values.send(np.array(item, dtype))
    return _repeat.into(values.like((2, *values.shape[1:])), pad, pad.size)
