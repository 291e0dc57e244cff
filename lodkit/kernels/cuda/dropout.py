"""CUDA kernels of lodkit/ops/dropout.py."""

from __future__ import annotations

from ...arrays.cuda import device, elementwise, vector
from ...jit import simd
from ..common import dropout

bits_of = device(dropout.bits_of)


@elementwise
def _drop(i, x, start, limit, factor, out):
    lane = vector.load(x, i, 1)
    if bits_of(start, i) >= limit:
        vector.store(out, i, simd.mul(lane, simd.like(lane, factor)))
    else:
        vector.store(out, i, simd.like(lane, 0))


def drop(x, start, limit, factor, out):
    """Put x into ``out``, times a factor or, where the bits of an element are below the limit, 0."""
    _drop.into(out, x, start, limit, x.compute_dtype.type(factor))
