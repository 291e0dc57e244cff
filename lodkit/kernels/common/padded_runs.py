"""Which runs of rows a padded array and its sequences have in common: structure alone, for both devices.

Slots are offsets: of padded sequences, all of one width, or of sequences laid end to end. A plan is the runs (where
each starts and stops in the source), and the slots of the target that ``copy_runs`` fills with them.
"""

from __future__ import annotations

import numpy as np


def matched(source, target, counts, side):
    """Copy ``counts[s]`` rows of slot s of the source to slot s of the target.

    They stand first in both, and the padding behind them; with ``side="left"`` last, and the padding before them.
    The slots of the target are passed on as they are, but for the left side.
    """
    if side == "right":
        starts = source[:-1]
        return (starts, starts + counts), target
    # What pads a slot in front is what stands behind the run before: slots end where their rows do, but for the last.
    runs, slots = np.zeros((2, len(counts) + 1), np.int64), np.empty(len(counts) + 2, np.int64)
    runs[0, 1:], runs[1, 1:] = source[1:] - counts, source[1:]
    slots[0], slots[1:-1], slots[-1] = target[0], target[1:] - counts, target[-1]
    return (runs[0], runs[1]), slots


def pads_of(counts, width, side):
    """The rows that are padding, of ``(len(counts), width)`` rows."""
    column = np.arange(width)
    behind = column >= counts[:, None] if side == "right" else column < width - counts[:, None]
    return np.flatnonzero(behind)
