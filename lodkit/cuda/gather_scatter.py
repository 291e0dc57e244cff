"""CUDA kernels of lodkit/ops/gather_scatter.py: lookups under another name."""

from __future__ import annotations

import numpy as np

from ..arrays import check_rows
from ..ops.gather_scatter import gather, gather_grad
from ..registry import Dense
from . import vector
from .embedding import lookup, lookup_grad
from .launch import cuda, launch
from .memory import view


@cuda.jit
def _wrap(ids, n, height, out):
    """Count ids that are counted from the end from the start; those before the start stay as they are."""
    i = cuda.grid(1)
    while i < n:
        row = vector.number(ids, i)
        out[i] = row + height if -height <= row < 0 else row
        i += cuda.gridsize(1)


def wrapped(ids, height, wrap):
    if not wrap:
        return ids
    ids = view(ids)
    out = ids.like(ids.shape, np.int64)
    launch(_wrap, ids.size, ids, ids.size, height, out)
    return out


@gather.kernel("cuda")
def run(data: Dense, ids: Dense, /, *, axis, wrap, out=None):
    data = check_rows(view(data), "data")
    return lookup(data, wrapped(ids, len(data), wrap), padding_idx=None, out=out)


@gather_grad.kernel("cuda")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, wrap):
    data = view(data)
    return lookup_grad(data, wrapped(ids, len(data), wrap), grad, padding_idx=None, is_sparse=True)
