"""CUDA part of lodkit/ops/edge_padding.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import copy_elements, elementwise, fill, vector
from ...ops.edge_padding import check_pads, check_removed
from .conversions import lengths_of
from .primitives.offsets import inspect_offsets
from .primitives.reduce import reduce_into


@elementwise
def _edges(i, offsets, segments, before, behind, rows):
    """The rows before all segments, segment by segment, then those behind them."""
    if i < segments * before:
        rows[i] = vector.number(offsets, i // before) + i % before
    else:
        k = i - segments * before
        rows[i] = vector.number(offsets, k // behind + 1) - behind + k % behind


@elementwise
def _stretch(i, offsets, step, out):
    out[i] = vector.number(offsets, i) + i * step


def pads(data, start, end):
    """Checked rows of padding before and behind; 0 if there are none."""
    if start is None and end is None:
        return 0
    rows = data.like((2, *data.shape[1:]))
    for side, pad in enumerate(check_pads(data, start, end)):
        place = rows.part(side, side + 1)
        fill(place, 0) if pad is None else copy_elements(pad, place)
    return rows


def stretch_offsets(offsets, step):
    """Offsets of segments that are ``step`` rows longer."""
    return _stretch.into(offsets.like(offsets.shape, np.int64), offsets, step)


def shorten_offsets(offsets, before, behind):
    """Offsets of the segments without their padding. Synchronises with the device."""
    slots = stretch_offsets(offsets, -(before + behind))
    if inspect_offsets(slots).decrease >= 0:
        check_removed(lengths_of(offsets).read(), before, behind)
    return slots


def edge_sums(data, offsets, before, behind):
    """The sum of the rows before all segments, and of those behind them; all segments must have them."""
    shorten_offsets(offsets, before, behind)
    count = len(offsets) - 1
    rows = _edges.into(data.like((count * (before + behind),), np.int64), offsets, count, before, behind)
    sides = np.array([0, count * before, rows.size])
    sums = reduce_into(data, rows, None, None, sides, "sum", 0.0)
    return tuple(sums.part(k, k + 1).reshape(*data.shape[1:]) for k in (0, 1))
