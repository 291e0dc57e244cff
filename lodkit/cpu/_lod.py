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


@njit
def runs_of(mask, starts, stops, to):
    """Runs of equal numbers, those of True in row 0 and others in row 1, and where each row's lie end to end.

    Returns how many runs there are, and how many numbers, of True and of False.
    """
    i, runs, others, trues, falses = 0, 0, 0, 0, 0
    while i < len(mask):
        first = i
        while i < len(mask) and mask[i] == mask[first]:
            i += 1
        if mask[first]:
            starts[0, runs], stops[0, runs], to[0, runs] = first, i, trues
            runs, trues = runs + 1, trues + i - first
        else:
            starts[1, others], stops[1, others], to[1, others] = first, i, falses
            others, falses = others + 1, falses + i - first
    return runs, others, trues, falses


@njit
def cut_level(offsets, starts, stops, to, out):
    """Fill ``out``: the offsets of the sequences of runs, joined. The runs become those of the next level, in place."""
    out[0] = 0
    k = 0
    for r in range(len(starts)):
        to[r] = out[k]
        shift = out[k] - offsets[starts[r]]
        for i in range(starts[r], stops[r]):
            k += 1
            out[k] = offsets[i + 1] + shift
        starts[r], stops[r] = offsets[starts[r]], offsets[stops[r]]
    return out[k]


@njit
def merge_level(in_true, in_false, side, runs, starts, stops, to, out):
    """The same of runs of two levels in turn, from ``side`` on: 0 for a run of ``in_true``."""
    out[0] = 0
    k = 0
    for turn in range(runs):
        offsets, r = in_true if side == 0 else in_false, turn // 2
        to[side, r] = out[k]
        shift = out[k] - offsets[starts[side, r]]
        for i in range(starts[side, r], stops[side, r]):
            k += 1
            out[k] = offsets[i + 1] + shift
        starts[side, r], stops[side, r] = offsets[starts[side, r]], offsets[stops[side, r]]
        side = 1 - side
    return out[k]


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
