"""Context windows around the rows of sequences: their rows of padding, and the rows that read each.

Computed on the CPU for both devices.
"""

from __future__ import annotations

import numpy as np


def edges(start, length):
    """Return the number of rows of padding before and after a sequence."""
    return max(0, -start), max(0, start + length - 1)


def clip_start(start, length, rows):
    """Clip ``start`` to where windows overlap a sequence; with zero padding the result is the same."""
    return max(-rows - length, min(start, rows))


def uses_of_padding(offsets, start, length):
    """Return rows whose windows, ``t + start`` to ``t + start + length`` for row t, read padding; and their offsets.

    ``rows[ends[u]:ends[u + 1]]`` read padding ``u // length`` at step ``u % length``.
    """
    starts, stops = offsets[:-1], offsets[1:]
    before, behind = edges(start, length)
    rows, ends = [starts[:0]], [0]
    for edge in range(before + behind):
        first = (starts if edge < before else stops) + (edge - before - start)
        for step in range(length):
            row = first - step
            rows.append(row[(starts <= row) & (row < stops)])
            ends.append(ends[-1] + len(rows[-1]))
    return np.concatenate(rows), np.array(ends)
