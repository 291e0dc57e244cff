"""CPU kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ...arrays import matrix, upcast
from ...jit import parallel_kernel, prange
from ...lod.offsets import lengths_to_offsets


def mark(offsets, ids, out):
    """Put 1 at the ids of each segment and 0 elsewhere; None for offsets means one id per segment."""
    _mark(out.size, np.arange(len(ids) + 1) if offsets is None else offsets, ids, out)


@parallel_kernel
def _mark(offsets, ids, out):
    for s in prange(len(out)):
        for d in range(out.shape[1]):
            out[s, d] = 0
        for i in range(offsets[s], offsets[s + 1]):
            out[s, ids[i]] = 1


def list_columns(dense):
    """Offsets of the rows over their non-zero columns, and these."""
    rows, counts = matrix(upcast(dense)), np.empty(len(dense), np.int64)
    _count(rows.size, rows, counts)
    offsets = lengths_to_offsets(counts)
    ids = np.empty(offsets[-1], np.int64)
    _list(rows.size, rows, offsets, ids)
    return offsets, ids


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
            # Another thread may have written to the array since the elements were counted.
            if dense[s, d] != 0 and at < offsets[s + 1]:
                ids[at] = d
                at += 1
