"""Compiled structure work: lengths to offsets, and checks."""

from __future__ import annotations

import numpy as np

from ..jit import njit


def lengths_to_offsets(lengths):
    """Offsets of int64 ``lengths``; None when one is negative or the total does not fit int64."""
    offsets = np.empty(len(lengths) + 1, np.int64)
    return offsets if _sum_up(lengths, offsets) else None


@njit
def _sum_up(lengths, offsets):
    total = np.int64(0)
    signs = np.int64(0)  # its sign bit remembers every negative number seen, without a branch a length
    offsets[0] = 0
    for i in range(len(lengths)):
        total += lengths[i]
        signs |= lengths[i] | total
        offsets[i + 1] = total
    return signs >= 0


@njit
def first_decrease(numbers):
    """Position of the first number below the one before it; 0 where there is none."""
    for i in range(1, len(numbers)):
        if numbers[i] < numbers[i - 1]:
            return i
    return 0


def cut_offsets(offsets, starts, stops):
    """Offsets, from 0, of the sequences ``starts[k]:stops[k]`` of a level, joined."""
    out = np.empty(int((stops - starts).sum()) + 1, np.int64)
    _cut_offsets(offsets, starts, stops, out)
    return out


@njit
def _cut_offsets(offsets, starts, stops, out):
    out[0] = 0
    k = 0
    for r in range(len(starts)):
        shift = out[k] - offsets[starts[r]]
        for i in range(starts[r], stops[r]):
            k += 1
            out[k] = offsets[i + 1] + shift


def sort_by_segment(ids, num_segments):
    """(offsets of the segments, numbers of the rows segment by segment in input order)."""
    offsets = np.empty(num_segments + 1, np.int64)
    order = np.empty(len(ids), np.int64)
    _counting_sort(ids, offsets, order)
    return offsets, order


@njit
def _counting_sort(ids, offsets, order):
    offsets[:] = 0
    for i in range(len(ids)):
        offsets[ids[i] + 1] += 1
    for s in range(1, len(offsets)):
        offsets[s] += offsets[s - 1]
    place = offsets[:-1].copy()
    for i in range(len(ids)):
        order[place[ids[i]]] = i
        place[ids[i]] += 1
