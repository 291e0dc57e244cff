"""One thread for NumPy's matrix products: those of a time step are small, and threads take longer to meet."""

from __future__ import annotations

import ctypes
import os
import sys

CHOSEN = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads")


def use_one_thread():
    """Ask the OpenBLAS of NumPy for one thread, unless the environment says how many. True if it took that."""
    core = sys.modules.get("numpy._core._multiarray_umath")
    if core is None or any(name in os.environ for name in CHOSEN):
        return False
    try:
        library = ctypes.CDLL(core.__file__)  # finds what NumPy's library is linked with, too
    except OSError:
        return False
    setter = next((getattr(library, name) for name in SETTERS if hasattr(library, name)), None)
    if setter is not None:
        setter(ctypes.c_int(1))
    return setter is not None
