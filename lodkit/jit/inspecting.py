"""What this process knows of compiled functions: their signatures, their entries in the cache, their code as text."""

from __future__ import annotations

import numba

from ..base.garbage import uncollected
from ..base.signals import uninterrupted
from . import private_numba
from .cache import DiskCache
from .compiling import dispatchers


def functions_of(code):
    """Return the functions that were made of some code, the first one first: a template makes several."""
    # A list of references is made at once, while other threads make functions.
    found = [reference() for reference in dispatchers.valuerefs()]
    return [compiled for compiled in found if compiled is not None and compiled.py_func.__code__ is code]


def signatures_of(function):
    """Return the types of the arguments that a function was compiled for."""
    return list(getattr(_dispatcher(function), "signatures", ()))


def report_of(function, signature):
    """Return what the compiler reported of the code for a signature: nothing on a CPU."""
    return {}


def entry_of(function, signature):
    """Return the file of the cache that keeps the code for a signature; None where there is none."""
    cache = getattr(_dispatcher(function), "_cache", None)
    return cache.entry_of(signature) if isinstance(cache, DiskCache) else None


def explain_absence():
    """Return why a loop has no signature, and what to do."""
    if numba.config.DISABLE_JIT:
        return "nothing is compiled while NUMBA_DISABLE_JIT is set; start Python without it"
    return (
        "it is not compiled yet; call the operator once, with inputs of these types. Of loops that a function makes, "
        "those by lodkit.jit.njit and parallel_kernel are known, not those by numba.njit"
    )


def text_of(function, signature, form):
    """Return assembly (``"asm"``) or LLVM's code (``"llvm"``), compiled anew: an entry of the cache has none."""
    compiled = _dispatcher(function)
    again = numba.njit(**private_numba.njit_options(compiled))(compiled.py_func)
    with uninterrupted(), uncollected():
        again.compile(tuple(map(private_numba.to_writable, signature)))
    return getattr(again, f"inspect_{form}")(again.signatures[-1])


def _dispatcher(function):
    return getattr(function, "compiled", function)
