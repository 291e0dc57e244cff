"""LoDTensor and SelectedRows as arguments and results of users' own ``@numba.njit`` functions.

``import numba`` and ``import lodkit`` are all that such a function needs: types are registered when Numba first asks
for the type of a LoDTensor, or by Numba's entry point. This package is for signatures: ``LoDTensorType``,
``SelectedRowsType``.

Examples
--------
>>> import numba, numpy as np
>>> from lodkit import LoDTensor
>>> @numba.njit
... def longest_first_word(t):
...     found = -1
...     longest = 0
...     for words in t:
...         if len(words) > longest:
...             longest, found = len(words), words[0]
...     return found
>>> int(longest_first_word(LoDTensor([7, 8, 9], [[1, 2]])))
8
"""

from __future__ import annotations

# Importing these modules registers their definitions with Numba.
from . import boxing, members, offsets, sequences
from .kinds import LoDTensorType, SelectedRowsType

__all__ = ["LoDTensorType", "SelectedRowsType", "init"]


def init():
    """Do nothing: Numba's entry point calls it once this package, and with it the types, is loaded."""
