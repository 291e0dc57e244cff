"""Types for a user's ``@numba.njit`` functions: the first question for one loads ``lodkit.interop.numba``."""

from __future__ import annotations

_loaded = None


def numba_types():
    """Import the module that tells Numba's types of objects on first use."""
    global _loaded
    if _loaded is None:
        from ..interop.numba import objects

        _loaded = objects
    return _loaded
