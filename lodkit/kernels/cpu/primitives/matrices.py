"""Matrix products by NumPy's BLAS, whose bits may depend on its threads."""

from __future__ import annotations

import numpy as np

# BLAS packs the matrix first, which takes longer than the products of a few vectors with it.
MAX_VECTOR_ROWS = 7
# Bytes of products that are made before they are used, while they are in the cache.
BLOCK = 1 << 20


def matmul(a, b, out=None, transpose=""):
    """The product of two matrices; ``transpose`` names one to transpose, left or right. Filled into ``out``."""
    a, b = a.T if transpose == "left" else a, b.T if transpose == "right" else b
    if out is None:
        return np.matmul(a, b)
    if len(a) > MAX_VECTOR_ROWS:
        return np.dot(a, b, out=out)
    for i in range(len(a)):
        np.dot(a[i], b, out=out[i])
    return out


def matmul_ahead(a, b, ready, needed, out):
    """Fill rows of ``out`` behind the ``ready`` ones with ``a @ b``, up to ``needed`` or further. Returns how far."""
    if needed <= ready:
        return ready
    stop = min(len(a), max(needed, ready + BLOCK // max(1, out.strides[0])))
    np.dot(a[ready:stop], b, out=out[ready:stop])
    return stop


def columns_of(x, start, stop):
    """Some columns of a matrix, for ``matmul``."""
    return x[:, start:stop]
