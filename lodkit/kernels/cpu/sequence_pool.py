"""CPU kernels of lodkit/ops/sequence_pool.py."""

from __future__ import annotations

from ...arrays import matrix
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_pool import above, check_index, sequence_pool, sequence_pool_grad
from ...registry import Dense
from .primitives.gradients import values_grad
from .primitives.reduce import argreduce_rows
from .segments import reduce_into


@sequence_pool.kernel("cpu")
def run(x: LoDTensor, /, *, pool, pad_value, level, return_index, out=None):
    pool = "mean" if pool == "average" else pool
    offsets, values = x.row_offsets(level), x.values
    if return_index:
        check_index(pool, return_index)
    result = above(x, level, reduce_into(values, None, None, None, offsets, pool, pad_value, out))
    if not return_index:
        return result
    index = argreduce_rows(pool, matrix(values), None, None, offsets)
    return result, above(x, level, index.reshape(len(index), *values.shape[1:]))


@sequence_pool_grad.kernel("cpu")
def run_grad(x: LoDTensor, out: Dense, grad: Dense, /, *, pool, level):
    pool = "mean" if pool == "average" else pool
    return x.with_values(values_grad(x.values, None, None, x.row_offsets(level), None, out, grad, pool))
