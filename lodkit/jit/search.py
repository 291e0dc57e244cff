"""Binary search in ascending offsets, inside kernels."""

from __future__ import annotations

from . import jitable


@jitable
def lower_bound(offsets, row):
    """Position of the first offset that is >= row."""
    low, high = 0, len(offsets)
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low
