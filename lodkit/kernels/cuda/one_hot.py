"""CUDA kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import fill
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...lod.levels import frozen
from ...lod.lod_tensor import LoDTensor
from ...ops.embedding import check_bag
from ...ops.one_hot import check_two_axes, dense_to_id_lists, one_hot, segment_one_hot
from ...ops.sequence_pool import above
from ...registry import Dense
from .primitives.cells import cells_of, checked_columns
from .primitives.scan import offsets_of


@cuda.jit
def _heat(cells, n, out):
    i = cuda.grid(1)
    while i < n:
        if vector.number(cells, i) >= 0:
            out[vector.number(cells, i)] = 1
        i += cuda.gridsize(1)


@cuda.jit
def _heat_each(ids, n, size, out):
    i = cuda.grid(1)
    while i < n:
        if (vector.number(ids, i) >= 0) & (vector.number(ids, i) < size):
            out[i * size + vector.number(ids, i)] = 1
        i += cuda.gridsize(1)


@cuda.jit
def _is_not_zero(dense, n, kept):
    i = cuda.grid(1)
    while i < n:
        kept[i] = 1 if vector.number(dense, i) != 0 else 0
        i += cuda.gridsize(1)


@cuda.jit
def _every(starts, step, n, offsets):
    s = cuda.grid(1)
    while s < n:
        offsets[s] = vector.number(starts, s * step)
        s += cuda.gridsize(1)


@cuda.jit
def _list_columns(starts, n, columns, ids):
    """The columns of what is kept: that before which one fewer is kept than behind."""
    i = cuda.grid(1)
    while i < n:
        if vector.number(starts, i) < vector.number(starts, i + 1):
            ids[vector.number(starts, i)] = i % columns
        i += cuda.gridsize(1)


@one_hot.kernel("cuda")
def run_one_hot(ids: Dense, /, *, size, out=None):
    ids, size = checked_columns(ids, size, "ids", "size")
    out = fill(output(ids, (*ids.shape, size), np.float32, out), 0)
    launch(_heat_each, ids.size, ids, ids.size, size, out)
    return out.array


@segment_one_hot.kernel("cuda")
def run_segment_one_hot(ids: LoDTensor, /, *, size, out=None):
    ids = check_bag(ids, "segment_one_hot")
    flat, size = checked_columns(ids.values, size, "ids", "size")
    offsets = ids.row_offsets()
    out = fill(output(flat, (len(offsets) - 1, size), np.float32, out), 0)
    launch(_heat, flat.size, cells_of(offsets, flat, size), flat.size, out)
    return above(ids, -1, out.array)


@dense_to_id_lists.kernel("cuda")
def run_dense_to_id_lists(dense: Dense, /):
    dense = view(dense)
    check_two_axes(dense)
    kept = dense.like((dense.size,), np.int64)
    launch(_is_not_zero, dense.size, dense, dense.size, kept)
    starts, offsets = offsets_of(kept), dense.like((len(dense) + 1,), np.int64)
    launch(_every, offsets.size, starts, dense.columns, offsets.size, offsets)
    offsets = offsets.read()
    ids = dense.like((int(offsets[-1]),), np.int64)
    launch(_list_columns, dense.size, starts, dense.size, dense.columns, ids)
    return LoDTensor._wrap(ids.array, (frozen(offsets),))
