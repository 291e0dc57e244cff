"""CUDA kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import fill
from ...arrays.cuda.launch import cuda, launch
from .primitives.cells import cells_of
from .primitives.scan import offsets_of


@cuda.jit
def _mark(cells, n, out):
    i = cuda.grid(1)
    while i < n:
        if vector.number(cells, i) >= 0:
            out[vector.number(cells, i)] = 1
        i += cuda.gridsize(1)


@cuda.jit
def _mark_each(ids, n, size, out):
    i = cuda.grid(1)
    while i < n:
        if (vector.number(ids, i) >= 0) & (vector.number(ids, i) < size):
            out[i * size + vector.number(ids, i)] = 1
        i += cuda.gridsize(1)


def mark(offsets, ids, out):
    """Put 1 at the ids of each segment and 0 elsewhere; None for offsets means one id per segment."""
    fill(out, 0)
    if offsets is None:
        launch(_mark_each, ids.size, ids, ids.size, out.shape[1], out)
    else:
        launch(_mark, ids.size, cells_of(offsets, ids, out.shape[1]), ids.size, out)


@cuda.jit
def _is_not_zero(dense, n, kept):
    i = cuda.grid(1)
    while i < n:
        kept[i] = 1 if vector.number(dense, i) != 0 else 0
        i += cuda.gridsize(1)


@cuda.jit
def _take_every(starts, step, n, offsets):
    s = cuda.grid(1)
    while s < n:
        offsets[s] = vector.number(starts, s * step)
        s += cuda.gridsize(1)


@cuda.jit
def _list_columns(starts, n, columns, ids):
    """Columns of what is kept: the running sum rises there."""
    i = cuda.grid(1)
    while i < n:
        if vector.number(starts, i) < vector.number(starts, i + 1):
            ids[vector.number(starts, i)] = i % columns
        i += cuda.gridsize(1)


def list_columns(dense):
    """Offsets, on the CPU, of the rows over their non-zero columns, and these. Synchronises with the device."""
    kept = dense.like((dense.size,), np.int64)
    launch(_is_not_zero, dense.size, dense, dense.size, kept)
    starts, offsets = offsets_of(kept), dense.like((len(dense) + 1,), np.int64)
    launch(_take_every, offsets.size, starts, dense.columns, offsets.size, offsets)
    offsets = offsets.read()
    ids = dense.like((int(offsets[-1]),), np.int64)
    launch(_list_columns, dense.size, starts, dense.size, dense.columns, ids)
    return offsets, ids
