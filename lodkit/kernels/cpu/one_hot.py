"""CPU kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import matrix, upcast
from ...jit import parallel_kernel, prange
from ...lod.levels import frozen
from ...lod.lod_tensor import LoDTensor
from ...ops.embedding import check_bag
from ...ops.one_hot import check_two_axes, dense_to_id_lists, one_hot, segment_one_hot
from ...ops.sequence_pool import above
from ...registry import Dense
from .conversions import lengths_to_offsets
from .primitives.cells import checked_columns


@parallel_kernel
def _heat(offsets, ids, out):
    for s in prange(len(out)):
        for d in range(out.shape[1]):
            out[s, d] = 0
        for i in range(offsets[s], offsets[s + 1]):
            out[s, ids[i]] = 1


@parallel_kernel
def _count(dense, counts):
    for s in prange(len(dense)):
        count = 0
        for d in range(dense.shape[1]):
            count += dense[s, d] != 0
        counts[s] = count


@parallel_kernel
def _list(dense, offsets, ids):
    for s in prange(len(dense)):
        at = offsets[s]
        for d in range(dense.shape[1]):
            if dense[s, d] != 0:
                ids[at] = d
                at += 1


@one_hot.kernel("cpu")
def run_one_hot(ids: Dense, /, *, size, out=None):
    ids, size = checked_columns(ids, size, "ids", "size")
    out = arrays.output((*ids.shape, size), np.float32, out)
    _heat(out.size, np.arange(ids.size + 1), ids.reshape(-1), out.reshape(ids.size, size))
    return out


@segment_one_hot.kernel("cpu")
def run_segment_one_hot(ids: LoDTensor, /, *, size, out=None):
    ids = check_bag(ids, "segment_one_hot")
    flat, size = checked_columns(ids.values, size, "ids", "size")
    out = arrays.output((len(ids.row_offsets()) - 1, size), np.float32, out)
    _heat(out.size, ids.row_offsets(), flat, out)
    return above(ids, -1, out)


@dense_to_id_lists.kernel("cpu")
def run_dense_to_id_lists(dense: Dense, /):
    check_two_axes(dense)
    rows, counts = matrix(upcast(dense)), np.empty(len(dense), np.int64)
    _count(rows.size, rows, counts)
    offsets = lengths_to_offsets(counts)
    ids = np.empty(offsets[-1], np.int64)
    _list(rows.size, rows, offsets, ids)
    return LoDTensor._wrap(ids, (frozen(offsets),))
