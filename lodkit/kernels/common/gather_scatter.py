"""Kernels of lodkit/ops/gather_scatter.py: lookups, of rows and along another axis."""

from __future__ import annotations

from ...lod import LoDTensor
from ...ops import gather_scatter as ops
from ...registry import Dense
from .embedding import lookup_table_grad


def _gather_loops(on, data, ids, /, *, axis, wrap, match_outer, is_sparse):
    data, _, axis, numbers = ops.prepare_gather(on, data, ids, axis, wrap, match_outer)
    return [on.gather_loop(*_source(on, data, numbers, axis, match_outer))]


def _batch_loops(on, data, ids, /, *, match_outer):
    return _gather_loops(on, data, ids, axis=1, wrap=False, match_outer=match_outer, is_sparse=True)


@ops.gather.kernel("cpu", "cuda", choose_loops=_gather_loops)
def gather(on, data, ids: Dense | LoDTensor, /, *, axis, wrap, match_outer, is_sparse, out=None):
    data, dtype, axis, numbers = ops.prepare_gather(on, data, ids, axis, wrap, match_outer)
    if axis:
        return _gather_along(on, data, numbers, dtype, axis, match_outer, out)
    out = on.output(numbers.shape + data.shape[1:], dtype, out, data)
    on.gather(data, numbers, None, out)
    return ops.wrap_like_ids(out, ids)


@ops.batch_gather.kernel("cpu", "cuda", choose_loops=_batch_loops)
def batch_gather(on, data, ids, /, *, match_outer, out=None):
    data, dtype, axis, numbers = ops.prepare_gather(on, data, ids, 1, False, match_outer)
    return _gather_along(on, data, numbers, dtype, axis, match_outer, out)


def _source(on, data, ids, axis, match_outer):
    """The rows that a gather reads, and those of them that it takes."""
    if not axis:
        return data, ids
    rows = on.gather_scatter.source_rows(data.shape, ids, axis, match_outer)
    return data.reshape(*ops.as_rows(data.shape, axis)), rows


def _gather_along(on, data, ids, dtype, axis, match_outer, out):
    source, rows = _source(on, data, ids, axis, match_outer)
    out = on.output(ops.gathered_shape(data.shape, ids.shape, axis, match_outer), dtype, out, data)
    on.gather(source, rows, None, out.reshape(len(rows), *data.shape[axis + 1 :]))
    return out


@ops.gather_grad.kernel("cpu", "cuda")
def gather_grad(on, data, ids, grad, /, *, wrap, is_sparse):
    ids = ops.wrap_and_check(on, ids, len(data), wrap)
    return lookup_table_grad(on, data, ids, grad, padding_idx=None, is_sparse=is_sparse)


@ops.batch_gather_grad.kernel("cpu", "cuda")
def batch_gather_grad(on, data, ids, grad, /, *, axis, wrap, match_outer):
    data, dtype, axis, numbers, grad = ops.prepare_gather_grad(on, data, ids, grad, axis, wrap, match_outer)
    rows = on.gather_scatter.source_rows(data.shape, numbers, axis, match_outer)
    result = on.rows_grad(ops.as_rows(data.shape, axis), rows, grad, dtype)
    return result.reshape(*data.shape)
