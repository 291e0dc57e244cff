"""When compiled code alone plans and copies a few sequences, without the shared plans: in a third of the time."""

from __future__ import annotations

import numpy as np

from ....arrays import VALUE_TYPES
from ....jit import settings

INT64 = np.dtype(np.int64)


def has_few(values):
    """True if an array has some numbers, which one thread copies."""
    return 0 < values.size < settings.parallel_from and values.dtype in VALUE_TYPES


def is_few(x):
    """True if a tensor has one level, and few numbers."""
    return len(x._lod) == 1 and has_few(x._values)


def are_few(x, y):
    """True of two such tensors with rows alike."""
    values, others = x._values, y._values
    return is_few(x) and is_few(y) and values.dtype is others.dtype and values.shape[1:] == others.shape[1:]


def is_plain(numbers, count, dtype=INT64):
    """True if an array has this many numbers as compiled code reads them."""
    return numbers.dtype is dtype and numbers.shape == (count,) and numbers.flags.c_contiguous
