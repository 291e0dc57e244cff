"""CPU part of lodkit/ops/edge_padding.py."""

from __future__ import annotations

import numpy as np

from ...lod.copy_runs import even_slots
from ...lod.levels import lengths_between as lengths_of
from ...ops.edge_padding import check_pads, check_removed
from .primitives.reduce import reduce_into


def pads(data, start, end):
    """Checked rows of padding before and behind; 0 if there are none."""
    if start is None and end is None:
        return 0
    zero = np.zeros(data.shape[1:], data.dtype)
    return np.stack([zero if pad is None else pad for pad in check_pads(data, start, end)])


def stretch_offsets(offsets, step):
    """Offsets of segments that are ``step`` rows longer."""
    return offsets + even_slots(len(offsets) - 1, step)


def shorten_offsets(offsets, before, behind):
    """Offsets of the segments without their padding."""
    check_removed(lengths_of(offsets), before, behind)
    return stretch_offsets(offsets, -(before + behind))


def edge_sums(data, offsets, before, behind):
    """The sum of the rows before all segments, and of those behind them; all segments must have them."""
    check_removed(lengths_of(offsets), before, behind)
    # Without segments there are no rows at all, whatever the widths.
    before, behind = (before, behind) if len(offsets) > 1 else (0, 0)
    starts = (offsets[:-1, None] + np.arange(before)).reshape(-1)
    ends = (offsets[1:, None] + np.arange(-behind, 0)).reshape(-1)
    sides = np.array([0, len(starts), len(starts) + len(ends)])
    sums = reduce_into(data, np.concatenate([starts, ends]), None, None, sides, "sum", 0.0)
    return sums[0, ...], sums[1, ...]
