"""Matrix products and norms by the array library; norms synchronise with the device."""

from __future__ import annotations

from ....arrays.cuda import convert, copy_elements, memory, view
from .update import dense_loops, update_all


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


def multiply_arrays(xp, a, b):
    """The product of two arrays of ``namespace_and_arrays``, whose namespace is ``xp``."""
    return xp.matmul(a, b)


def columns_of(x, start, stop):
    """Some columns of a matrix, for ``matmul``."""
    xp = x.library.namespace()
    return view(xp.asarray(x.array)[:, start:stop])


def squared_norm(x):
    """The sum of all squares, in double precision."""
    return memory.norm(view(x).array) ** 2


def stepped_loops(rule, param, states, grad):
    """The loop of ``stepped_norms``, and the elements that each thread steps at once."""
    return dense_loops(rule, param, states, grad)


def stepped_norms(rule, param, states, grad):
    """The squared norms of a parameter and of what a rule, which leaves the states alone, makes of it."""
    stepped = convert(param, param.dtype, new=True)
    update_all(rule, stepped, states, grad)
    return squared_norm(param), squared_norm(stepped)
