"""CPU kernels of lodkit/ops/gather_scatter.py: lookups under another name."""

from __future__ import annotations

from ..arrays import check_rows
from ..ops.gather_scatter import gather, gather_grad, wrapped
from ..registry import Dense
from .embedding import lookup, lookup_grad


@gather.kernel("cpu")
def run(data: Dense, ids: Dense, /, *, axis, wrap, out=None):
    return lookup(data, wrapped(ids, len(check_rows(data, "data")), wrap), padding_idx=None, out=out)


@gather_grad.kernel("cpu")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, wrap):
    return lookup_grad(data, wrapped(ids, len(data), wrap), grad, padding_idx=None, is_sparse=True)
