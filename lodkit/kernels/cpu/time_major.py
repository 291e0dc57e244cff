"""CPU part of lodkit/ops/time_major.py: maps of rows."""

from __future__ import annotations

import numpy as np

from ...jit import jitable, njit
from ...lod.offsets import numbering


def _map_steps(rule):
    """Make a function of offsets and a number of steps: ``rule(offsets, s, t)`` at each step of each segment."""
    rule = jitable(inline=True)(rule)

    @njit
    def kernel(offsets, steps, rows):
        count = len(offsets) - 1
        for t in range(steps):
            for s in range(count):
                rows[t * count + s] = rule(offsets, s, t)

    def rows_of(offsets, steps):
        rows = np.empty(steps * (len(offsets) - 1), np.int64)
        kernel(offsets, steps, rows)
        return rows

    return rows_of


def _reversed_row(offsets, s, t):
    length = offsets[s + 1] - offsets[s]
    return (length - 1 - t if t < length else t) * (len(offsets) - 1) + s


#: Row at each step of each segment; -1 behind its end.
packed_rows = _map_steps(lambda offsets, s, t: offsets[s] + t if offsets[s] + t < offsets[s + 1] else -1)
#: Place of the row that comes to each step of each segment.
reversed_rows = _map_steps(_reversed_row)
_places = numbering(lambda offsets, s, i: (i - offsets[s]) * (len(offsets) - 1) + s)


def unpacked_rows(offsets, n):
    """Place of each of ``n`` rows in a time-major array."""
    return _places(offsets)
