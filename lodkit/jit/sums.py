"""Sums of sizes inside compiled functions."""

from __future__ import annotations

import numpy as np
from numba import config

from .compiling import jitable


def _allow_overflow(function):
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else jitable(function, inline=True)


@_allow_overflow
def plus(a, b):
    """The sum of sizes; a negative number where it does not fit int64.

    Of signed numbers LLVM expects that their sums fit, and drops a look at the sign of one.
    """
    return np.int64(np.uint64(a) + np.uint64(b))
