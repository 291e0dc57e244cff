"""CUDA part of lodkit/ops/hashing.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, device, elementwise
from ..common.hashing import xxh64

_xxh64 = device(xxh64)


@elementwise
def _fill(k, x, columns, small, count, bound, out):
    out[k] = np.int64(_xxh64(x, k // count, columns, small, np.uint64(k % count)) % np.uint64(bound))


def fill(x, columns, small, count, bound, out):
    """``out[row * count + seed]``: the hash by a seed, below ``bound``, of a row of ids, ``small`` ones as int32."""
    _fill(out.size, convert(x, np.int64), columns, int(small), count, bound, out)
