"""CPU kernels of lodkit/ops/dropout.py."""

from __future__ import annotations

import numpy as np

from ...arrays import matrix
from ...jit import jitable, parallel_kernel, prange, settings, simd
from ..common.dropout import bits_of

bits_of = jitable(bits_of, inline=True)


@parallel_kernel
def _drop(x, start, limit, factor, chunk, out):
    for c in prange((out.shape[1] + chunk - 1) // chunk):
        for i in range(c * chunk, min(out.shape[1], (c + 1) * chunk)):
            lane = simd.load(x, 0, i, 1)
            if bits_of(start, i) >= limit:
                simd.store(out, 0, i, simd.mul(lane, simd.like(lane, factor)))
            else:
                simd.store(out, 0, i, simd.like(lane, 0))


def drop(x, start, limit, factor, out):
    """Put x into ``out``, times a factor or, where the bits of an element are below the limit, 0."""
    numbers, result = (matrix(a.reshape(-1)).reshape(1, -1) for a in (x, out))
    with np.errstate(over="ignore"):  # uncompiled
        _drop(out.size, numbers, start, limit, factor, settings.chunk_rows, result)
