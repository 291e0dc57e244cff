"""Steps of the arithmetic between rows and their sequence, and the table of positions."""

from __future__ import annotations

import functools

from ...arrays import matrix
from ...jit import simd
from ...ops import sequence_arithmetic as ops

STEPS = {"add": simd.add, "sub": simd.sub, "mul": simd.mul, "div": simd.div}


@functools.lru_cache(8)
def _table(length, item, beta, dtype):
    table = (beta * ops.encodings(length, item)).astype(dtype)
    table.flags.writeable = False
    return table


def table_of(offsets, item, beta, dtype):
    """``beta`` times the encodings, in a type: up to a power of two, so that one is made for many batches."""
    longest = int((offsets[1:] - offsets[:-1]).max(initial=0))
    return matrix(_table(1 << max(longest - 1, 0).bit_length(), tuple(item), float(beta), dtype))
