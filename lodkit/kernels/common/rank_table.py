"""Kernels of lodkit/ops/rank_table.py: ranks by a counting sort, and plans in front of the shared copies of rows."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, native
from ...lod import LoDTensor, RankTable, values_of
from ...lod.offsets import rank_lengths
from ...ops import rank_table as ops
from ...ops.shared.sequences import is_ragged
from ...registry import Dense
from .copy_by_plan import gather_by_plan
from .copy_plan import plan_parts


@ops.lod_rank_table.kernel("cpu", "cuda")
def lod_rank_table(on, x: LoDTensor, /, *, level):
    levels = x._lod[: x._level(level) + 1]
    return RankTable._wrap(levels, *rank_lengths(levels[-1]))


@ops.max_sequence_len.kernel("cpu", "cuda")
def max_sequence_len(on, table, /):
    return np.array([len(table._running)])


@ops.reorder_lod_tensor_by_rank.kernel("cpu", "cuda")
def reorder_lod_tensor_by_rank(on, x: Dense | LoDTensor, table, /, *, inverse, out=None):
    ops.check_ranked(x, table)
    order = table._ranks if inverse else table._index
    if is_ragged(x):
        return gather_by_plan(on, plan_parts(x, 0, order, ()), out)
    return on.take_rows(values_of(x), order, out)


@ops.shrink_rnn_memory.kernel("cpu", "cuda")
def shrink_rnn_memory(on, x: Dense | LoDTensor, table, /, *, step):
    kept, rows = ops.check_running(x, table, step)
    # A copy, which a tape may read when x was overwritten since
    values = on.take_rows(values_of(x), np.arange(rows))
    return LoDTensor._wrap(values, x[:kept]._lod) if is_ragged(x) else values


@ops.shrink_rnn_memory_grad.kernel("cpu", "cuda")
def shrink_rnn_memory_grad(on, x: Dense | LoDTensor, table, grad, /, *, step):
    _, rows = ops.check_running(x, table, step, "the gradient", floating=True)
    values = values_of(x)
    check_gradient(grad, (rows, *values.shape[1:]))
    out = on.zeros(values.shape, native(values.dtype), values)
    if grad.size:
        on.copy_elements(on.convert(grad, out.dtype), on.part(out, 0, rows))
    return out
