"""Kernels over the cells of a matrix that has a row for every sequence, and of each row the columns of its ids.

A sequence has a row to itself, so sequences run in parallel.
"""

from __future__ import annotations

import numpy as np

from ....arrays import integers
from ....arrays.ids import checked_ids
from ....jit import parallel_kernel, prange
from ....jit.search import lower_bound
from ....ops.shared.columns import count_of, outside


def checked_columns(ids, given, name, what):
    """Ids as int64, each inside the bound, and the bound: the one given, else the largest id + 1."""
    ids = integers(ids, name)
    bound = count_of(given, int(ids.max(initial=-1)) if given is None else -1, what)
    return checked_ids(ids, bound, name, lambda numbers, at: outside(numbers, at, name, bound, what)), bound


def cells_of(offsets, columns, size):
    """The cell of each id, by its column of ``size``; -1 where the column is."""
    cells = np.empty(len(columns), np.int64)
    _number(len(columns), offsets, columns, size, cells)
    return cells


@parallel_kernel
def _number(offsets, columns, size, cells):
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            cells[i] = s * size + columns[i] if columns[i] >= 0 else -1


@parallel_kernel
def find_columns(ids, mask, order, chunk, columns):
    """``columns[i]``: where in the unsorted mask the id is, -1 where it is not; ``mask`` is the sorted one."""
    for c in prange((len(ids) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(ids), (c + 1) * chunk)):
            at = lower_bound(mask, ids[i])
            columns[i] = order[at] if at < len(mask) and mask[at] == ids[i] else -1


@parallel_kernel
def put_last(offsets, cells, values, out):
    """``out[cells[i]] = values[i]``: of equal cells the last one stays, -1 is passed over."""
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for d in range(out.shape[1] if cells[i] >= 0 else 0):
                out[cells[i], d] = values[i, d]


@parallel_kernel
def find_last(offsets, cells, seen, last):
    """``last[i]``: the cell, where none behind has the same, else -1. Cells that there are become ``seen``."""
    for s in prange(len(offsets) - 1):
        for i in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
            last[i] = -1
            if cells[i] >= 0 and not seen[cells[i]]:
                last[i], seen[cells[i]] = cells[i], True
