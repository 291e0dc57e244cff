"""Kernels of lodkit/ops/dropout.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...ops.dropout import prepare


@ops.dropout.kernel("cpu", "cuda")
def dropout(on, x, /, *, rate, seed, training, out=None):
    dtype, start, limit, factor = prepare(x, rate, seed, training)
    out = on.output(x.shape, dtype, out, x)
    if out.size:
        on.dropout.drop(x, np.uint64(start), np.uint64(limit), factor, out)
    return out
