"""Threads of NumPy's BLAS in matrix products of operators and gradients.

OpenBLAS shares a product among threads of its own, which meet at its end and then look for more work: beside threads of
kernels, or another process, two wait for a core longer than a small product takes. Its number of threads is one of the
process, so products that NumPy computes for others meanwhile get as few. Another BLAS is left as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading

import numpy as np

from ..base import loading
from .threading_layer import get_num_threads

#: Multiplications that are worth a thread, 0.1 ms of a core (znver4, float32). With both cores busy, a product that two
#: threads share takes up to 12 ms longer; on a quiet machine one of 16.8 million takes 0.52 of the time of one thread.
THREAD_PRODUCTS = 1 << 22
# OpenBLAS itself takes one thread for fewer, about; to tell it takes a microsecond.
SHARED_PRODUCTS = 1 << 20

_lock = threading.RLock()
# Calling thread -> threads that its product may use. What an interrupt leaves, the thread's next product takes out.
_inside: dict[int, int] = {}
_before = 0


@functools.cache
def find_openblas():
    """Find how to get and set the number of OpenBLAS's own threads; None if NumPy's BLAS has none."""
    with contextlib.suppress(OSError, AttributeError):
        # Looks into the libraries, too, that NumPy's core was linked with. Python's lock, which takes longer, is kept.
        library = ctypes.PyDLL(sys.modules["numpy"]._core._multiarray_umath.__file__)
        for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
            get, put, kind = (
                getattr(library, f"{prefix}openblas_{name}{suffix}", None)
                for name in ("get_num_threads", "set_num_threads", "get_parallel")
            )
            if get and put and kind:
                return (get, put) if kind() == 1 else None
    return None


def share_product(products, function, *args):
    """Call a function, in which BLAS uses the threads that so many multiplications are worth, within lodkit's limit."""
    global _before
    openblas, caller = find_openblas(), threading.get_ident()
    if openblas is None:
        return function(*args)
    get, put = openblas
    threads = products // THREAD_PRODUCTS
    threads = 1 if threads < 2 else min(threads, get_num_threads())
    try:
        with _lock:
            if not _inside:
                _before = get()
            _inside[caller] = threads
            if threads < _before:
                put(threads if len(_inside) == 1 else min(_inside.values()))
        return function(*args)
    finally:
        with _lock:
            if _inside.pop(caller, _before) < _before:
                put(min(_before, *_inside.values()) if _inside else _before)


def multiply(a, b, out=None, product=None):
    """Return ``a @ b``, by NumPy's matmul or another product, on as many of BLAS's threads as it is worth."""
    product = product or np.matmul
    products = a.size * b.shape[-1] if b.ndim > 1 else a.size
    if products < SHARED_PRODUCTS:
        return product(a, b, out)
    return share_product(products, product, a, b, out)


def _forget_others():
    """Give a forked child the threads that products of other threads had been denied."""
    global _before
    if _inside and (openblas := find_openblas()):
        _inside.clear()
        openblas[1](_before)


loading.locks.append(_lock)
loading.renewals.append(_forget_others)
