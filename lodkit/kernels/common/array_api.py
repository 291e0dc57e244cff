"""The array API that libraries share, for operators that are the array library's own routines."""

from __future__ import annotations

import numpy as np

from ...arrays import cast, dtype_of, is_array

_HALF = np.dtype(np.float16)


def namespace(x):
    """The array API of the library of an array."""
    if isinstance(x, np.ndarray):
        return np
    from ...arrays.cuda import library_of

    return library_of(x).namespace()


def upcast_half(x):
    """float16 as float32, so that what is computed is rounded once; others as they are."""
    x = cast(x, np.float32) if dtype_of(x) == _HALF else x
    return x if isinstance(x, np.ndarray) else namespace(x).asarray(x)


def round_to(x, dtype):
    """A result in the type of the operator; NumPy's numbers of no dimension as arrays again."""
    x = x if is_array(x) else np.asarray(x)
    return x if dtype_of(x) == dtype else cast(x, dtype)
