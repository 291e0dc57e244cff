"""Runs of rows that a padded array and its sequences have in common: structure alone, for both devices.

Slots are offsets, or the width of all: of padded sequences, or of sequences laid end to end. A plan is the runs (start
and stop of each in the source), and the slots of the target that ``copy_runs`` fills with them.
"""

from __future__ import annotations

import numpy as np

from ...lod.copy_runs import even_slots


def flat(padded):
    """The rows of padded sequences: the first two axes as one."""
    shape = padded.shape
    return padded.reshape((shape[0] * shape[1], *shape[2:]))


def copy_slots(source, target, counts, side):
    """Copy ``counts[s]`` rows of slot s of the source to slot s of the target.

    They stand first in both, and the padding behind them; with ``side="left"`` last, and the padding before them.
    With the right side the smaller of two slots has as many rows: slots are passed on as they are.
    """
    if side == "right":
        return source, target
    source = even_slots(len(counts), source) if type(source) is int else source
    target = even_slots(len(counts), target) if type(target) is int else target
    # The padding before a slot is the padding behind the previous run: slots end with their rows, except the last.
    runs, slots = np.zeros((2, len(counts) + 1), np.int64), np.empty(len(counts) + 2, np.int64)
    runs[0, 1:], runs[1, 1:] = source[1:] - counts, source[1:]
    slots[0], slots[1:-1], slots[-1] = target[0], target[1:] - counts, target[-1]
    return (runs[0], runs[1]), slots


def pads_of(counts, width, side):
    """The rows that are padding, of ``(len(counts), width)`` rows."""
    column = np.arange(width)
    behind = column >= counts[:, None] if side == "right" else column < width - counts[:, None]
    return np.flatnonzero(behind)
