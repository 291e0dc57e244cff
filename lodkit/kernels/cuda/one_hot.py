"""CUDA kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, fill, vector
from .primitives.cells import cells_of
from .primitives.gather import differs_from
from .primitives.scan import offsets_of


@elementwise
def _mark(i, cells, out):
    if vector.number(cells, i) >= 0:
        out[vector.number(cells, i)] = 1


@elementwise
def _mark_each(i, ids, size, out):
    if (vector.number(ids, i) >= 0) & (vector.number(ids, i) < size):
        out[i * size + vector.number(ids, i)] = 1


def mark(offsets, ids, out):
    """Put 1 at the ids of each segment and 0 elsewhere; None for offsets means one id per segment."""
    fill(out, 0)
    if offsets is None:
        _mark_each(ids.size, ids, out.shape[1], out)
    else:
        _mark(ids.size, cells_of(offsets, ids, out.shape[1]), out)


@elementwise
def _take_every(s, starts, step, offsets):
    offsets[s] = vector.number(starts, s * step)


@elementwise
def _list_columns(i, starts, columns, ids):
    """Columns of what is kept: the running sum rises there."""
    if vector.number(starts, i) < vector.number(starts, i + 1):
        ids[vector.number(starts, i)] = i % columns


def list_columns(dense):
    """Offsets, on the CPU, of the rows over their non-zero columns, and these. Synchronises with the device."""
    starts = offsets_of(differs_from(0, dense))
    offsets = _take_every.into(dense.like((len(dense) + 1,), np.int64), starts, dense.columns).read()
    ids = dense.like((int(offsets[-1]),), np.int64)
    _list_columns(dense.size, starts, dense.columns, ids)
    return offsets, ids
