"""Walks over ascending offsets, inside kernels: where a row belongs, and the segments of a chunk of rows."""

from __future__ import annotations

from .compiling import jitable


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


@jitable(inline=True, nrt=False)
def segment_of(offsets, row):
    """Number of the segment that a row lies in."""
    return lower_bound(offsets, row + 1) - 1


@jitable(inline=True, nrt=False)
def advance(offsets, s, row):
    """Number of the segment of a row that lies in segment s or behind it."""
    while offsets[s + 1] <= row:
        s += 1
    return s


@jitable(inline=True, nrt=False)
def segments_in(offsets, chunk, c):
    """Range of the segments whose first row lies in chunk c; there are ``offsets[-1] // chunk + 1`` chunks."""
    last = len(offsets) - 1
    first = 0 if c == 0 else min(last, lower_bound(offsets, c * chunk))
    return range(first, min(last, lower_bound(offsets, (c + 1) * chunk)))
