"""Matrix products by the array library."""

from __future__ import annotations

from ....arrays.cuda import convert, copy_elements, view


def matmul(a, b, out=None, transpose=""):
    """The product of two matrices; ``transpose`` names one to transpose, left or right. Filled into ``out``."""
    xp, dtype = a.library.namespace(), a.dtype
    a, b = xp.asarray(a.array), xp.asarray(b.array)
    a = xp.permute_dims(a, (1, 0)) if transpose == "left" else a
    found = view(xp.matmul(a, xp.permute_dims(b, (1, 0)) if transpose == "right" else b))
    return convert(found, dtype) if out is None else copy_elements(found, out)


def matmul_ahead(a, b, ready, needed, out):
    """Fill rows of ``out`` behind the ``ready`` ones with ``a @ b``, up to ``needed`` or further. Returns how far."""
    if ready < needed:
        matmul(a, b, out)
    return max(ready, len(a))


def columns_of(x, start, stop):
    """Some columns of a matrix, for ``matmul``."""
    xp = x.library.namespace()
    return view(xp.asarray(x.array)[:, start:stop])
