"""Bring a few equal ids together: every id is compared with every other, in two launches without a barrier."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import device, elementwise, vector
from .runs import buffers_of_runs, found_runs
from .sort import argsort, write_runs

# Above this the comparisons of all pairs take longer than the passes of a radix sort.
MAX_COMPARED_IDS = 1024


@device
def _key(ids, i, height):
    """An id, or ``height`` for one outside."""
    row = vector.number(ids, i)
    return row if (row >= 0) & (row < height) else height


@elementwise
def _rank(i, ids, n, height, sorted_ids, order):
    key, rank = _key(ids, i, height), 0
    for j in range(n):
        other = _key(ids, j, height)
        rank += (other < key) | ((other == key) & (j < i))
    sorted_ids[rank], order[rank] = key, i


@elementwise
def _table(i, ids, n, height, offsets, rows):
    """The runs of sorted ids: a thread counts the runs that start before its id."""
    key, before = vector.number(ids, i), 0
    for j in range(1, i + 1):
        before += (vector.number(ids, j) != vector.number(ids, j - 1)) & (vector.number(ids, j) < height)
    if key < height and (i == 0 or vector.number(ids, i - 1) != key):
        rows[before], offsets[before] = key, i
    if key < height and (i == n - 1 or vector.number(ids, i + 1) == height):
        offsets[before + 1] = i + 1
    if i == n - 1:
        inside = vector.number(ids, 0) < height
        rows[n] = before + 1 if inside else 0
        if not inside:
            offsets[0] = 0


def sort_few(ids, height):
    """``sort.argsort`` of at most FEW ids."""
    sorted_ids, order = ids.buffers(2, ids.size, np.int64)
    _rank(ids.size, ids, ids.size, height, sorted_ids, order)
    return sorted_ids, order


def sort_below(ids, height):
    """Sort ids, few or many, stably: those outside ``[0, height)`` count as ``height``. Returns them, and the order."""
    return sort_few(ids, height) if ids.size <= MAX_COMPARED_IDS else argsort(ids, height)


def write_table(sorted_ids, height):
    """``sort.write_runs`` of what ``sort_below`` gives."""
    n = sorted_ids.size
    if n > MAX_COMPARED_IDS or not n:
        return write_runs(sorted_ids, height)
    rows, offsets = buffers_of_runs(sorted_ids, n)
    _table(n, sorted_ids, n, height, offsets, rows)
    return rows, offsets


def runs_of_sorted(sorted_ids, order, height):
    """The Runs of what ``sort_below`` gives; ids outside have none. Synchronises with the device."""
    return found_runs(*write_table(sorted_ids, height), order)


def runs_below(ids, height):
    """The Runs of ids, few or many; those outside ``[0, height)`` have none. Synchronises with the device."""
    return runs_of_sorted(*sort_below(ids, height), height)
