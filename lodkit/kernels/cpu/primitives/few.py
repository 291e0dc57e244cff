"""When compiled code alone plans and copies a few sequences, without the shared plans: in a third of the time.

What these accept, every check of the operator accepts; anything else goes the shared way, which raises.
"""

from __future__ import annotations

import numpy as np

from ....arrays import VALUE_TYPES
from ....jit import settings

INT64 = np.dtype(np.int64)


def has_few(values):
    """True if an array has some numbers, which one thread copies."""
    return 0 < values.size < settings.parallel_from and values.dtype in VALUE_TYPES


def is_few(values, levels, level=0):
    """True if values and levels of a tensor are of one level, which ``level`` names, and few numbers."""
    return len(levels) == 1 and -1 <= level <= 0 and has_few(values)


def are_few(values, levels, others, lower, level=0):
    """True of two such tensors with rows alike."""
    few = is_few(values, levels, level) and is_few(others, lower, level)
    return few and values.dtype is others.dtype and values.shape[1:] == others.shape[1:]


def is_vector(numbers, count=None, dtype=INT64):
    """True if an array has one dimension, this many numbers if it is said, and is as compiled code reads it."""
    size = numbers.size if count is None else count
    return numbers.dtype is dtype and numbers.shape == (size,) and numbers.flags.c_contiguous
