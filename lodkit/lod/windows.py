"""Windows of context around the rows of sequences: rows of padding that they reach, and the rows that reach each.

Structure alone, on the CPU, for both devices.
"""

from __future__ import annotations

import numpy as np


def edges(start, length):
    """Number of rows of padding before a sequence, and behind it."""
    return max(0, -start), max(0, start + length - 1)


def near(start, length, rows):
    """``start``, clipped: with zeros as padding all windows outside every sequence are alike."""
    return max(-rows - length, min(start, rows))


def uses_of_padding(offsets, start, length):
    """List the rows whose windows have each row of padding at each of their steps.

    Parameters
    ----------
    offsets : int64 array
        Of the sequences, in rows.
    start, length : int
        The window of row t has the rows from ``t + start`` on, ``length`` of them.

    Returns
    -------
    rows, ends : int64 arrays
        ``rows[ends[u]:ends[u + 1]]`` are those that have padding ``u // length`` at step ``u % length``.
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
