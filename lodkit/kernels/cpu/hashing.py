"""CPU part of lodkit/ops/hashing.py."""

from __future__ import annotations

import numpy as np

from ...jit import parallel_kernel, prange
from ..common.hashing import xxh64


@parallel_kernel
def _fill(x, columns, small, count, bound, out):
    for i in prange(len(out)):
        out[i] = np.int64(xxh64(x, i // count, columns, small, np.uint64(i % count)) % bound)


def fill(x, columns, small, count, bound, out):
    """``out[row * count + seed]``: the hash by a seed, below ``bound``, of a row of ids, ``small`` ones as int32."""
    # Uncompiled, products are taken modulo 2**64.
    with np.errstate(over="ignore"):
        ids = np.ascontiguousarray(x, np.int64)
        _fill(len(out) * (columns + 8), ids, columns, small, count, np.uint64(bound), out)
