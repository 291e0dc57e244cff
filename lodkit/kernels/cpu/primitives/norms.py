"""The norm of an array, without an array of its squares."""

from __future__ import annotations

import numpy as np

from ....arrays import matrix
from ....jit import parallel_kernel, prange, simd

LANES = 16
CHUNK = 1 << 14  # numbers; fixed, for the same bits whatever else is tuned


@parallel_kernel
def _squares(x, out):
    size = x.shape[1]
    for c in prange(len(out)):
        stop, total = min(size, (c + 1) * CHUNK), simd.widen(simd.full(x, LANES, 0))
        for j in range(c * CHUNK, stop, LANES):
            lanes = simd.widen(simd.load_first(x, 0, j, LANES, stop - j, 0))
            total = simd.fma(lanes, lanes, total)
        out[c] = simd.lane(simd.reduce(simd.add, total), 0)


def squared_norm(x):
    """The sum of all squares, in double precision."""
    flat = matrix(np.ascontiguousarray(x).reshape(1, -1))
    out = np.empty(-(-flat.size // CHUNK))
    _squares(flat.size, flat, out)
    return float(out.sum())
