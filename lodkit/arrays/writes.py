"""Writes that no interrupt parts: it leaves all arrays as they were, or all of them new.

Python lets signals in between bytecodes, and ``itertools.starmap`` calls functions of C without any.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np

from ..base.bfloat16 import is_bfloat16
from .bfloat16 import bits_of, to_dtype


def write_together(writes):
    """``target[where] = value`` for each of some triples, of which an interrupt leaves all or none.

    Values are rounded to the types of their targets before the first is written, so that nothing can fail after it.
    What is too large for its type becomes infinite, as in compiled code.
    """
    with np.errstate(all="ignore"):
        writes = [(_words_of(target), where, _like(target, value)) for target, where, value in writes]
        [*itertools.starmap(operator.setitem, writes)]


def _words_of(target):
    """An array to write to: of bfloat16 its bits, which NumPy copies in a sixth of the time."""
    return bits_of(target) if isinstance(target, np.ndarray) and is_bfloat16(target.dtype) else target


def _like(target, value):
    if not isinstance(target, np.ndarray):
        return value
    if is_bfloat16(target.dtype):
        return bits_of(to_dtype(np.asarray(value), target.dtype))
    return np.asarray(value, target.dtype)


class Drafts:
    """Context of copies of arrays, which are all written back when it ends without an error."""

    def __init__(self, *arrays):
        self._arrays = arrays

    def __enter__(self):
        self._copies = [array.copy() for array in self._arrays]
        return self._copies

    def __exit__(self, error, *_):
        if error is None:
            write_together([(array, ..., copy) for array, copy in zip(self._arrays, self._copies, strict=True)])
