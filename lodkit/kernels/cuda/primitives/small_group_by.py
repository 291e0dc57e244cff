"""Bring a few equal ids together: every id is compared with every other, in two launches without a barrier."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import device, elementwise, fill, vector
from .sort import Runs, argsort, runs

FEW = 1024  # ids; with more the comparisons take longer than a radix sort's passes


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
def _table(i, ids, n, height, rows, offsets, count):
    """The runs of sorted ids: a thread counts the runs that start before its id."""
    key, before = vector.number(ids, i), 0
    for j in range(1, i + 1):
        before += (vector.number(ids, j) != vector.number(ids, j - 1)) & (vector.number(ids, j) < height)
    if key < height and (i == 0 or vector.number(ids, i - 1) != key):
        rows[before], offsets[before] = key, i
    if key < height and (i == n - 1 or vector.number(ids, i + 1) == height):
        offsets[before + 1], count[0] = i + 1, before + 1


def sort_few(ids, height):
    """``sort.argsort`` of at most FEW ids."""
    sorted_ids, order = (ids.like((ids.size,), np.int64) for _ in range(2))
    _rank(ids.size, ids, ids.size, height, sorted_ids, order)
    return sorted_ids, order


def few_runs(ids, height):
    """The Runs of at most FEW ids. Synchronises with the device."""
    n, (sorted_ids, order) = ids.size, sort_few(ids, height)
    rows, offsets, count = ids.like((n,), np.int64), ids.like((n + 1,), np.int64), fill(ids.like((1,), np.int64), 0)
    _table(n, sorted_ids, n, height, rows, offsets, count)
    found = int(count.read()[0])
    return Runs(rows.part(0, found), offsets.part(0, found + 1) if found else fill(ids.like((1,), np.int64), 0), order)


def runs_below(ids, height):
    """The Runs of ids, few or many; those outside ``[0, height)`` have none. Synchronises with the device."""
    return few_runs(ids, height) if ids.size <= FEW else runs(*argsort(ids, height), height)
