"""Matrix products by NumPy's BLAS, whose bits may depend on its threads."""

from __future__ import annotations

import numpy as np

FEW = 4  # rows whose products are vectors' with a matrix: BLAS would pack the matrix first, which takes longer


def multiply(a, b, out=None, turned=""):
    """The product of two matrices, the one that ``turned`` names, left or right, transposed. Filled into ``out``."""
    a, b = a.T if turned == "left" else a, b.T if turned == "right" else b
    if out is None:
        return a @ b
    if len(a) > FEW:
        return np.dot(a, b, out=out)
    for i in range(len(a)):
        np.dot(a[i], b, out=out[i])
    return out


def columns_of(x, start, stop):
    """Some columns of a matrix, for ``multiply``."""
    return x[:, start:stop]
