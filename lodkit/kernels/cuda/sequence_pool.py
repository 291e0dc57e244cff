"""CUDA kernels of lodkit/ops/sequence_pool.py."""

from __future__ import annotations

from ...arrays.cuda.memory import view
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_pool import above, check_index, sequence_pool, sequence_pool_grad
from ...registry import Dense
from .primitives.gradients import argreduce_rows, values_grad
from .primitives.offsets import offsets_like
from .segments import reduce_into


@sequence_pool.kernel("cuda")
def run(x: LoDTensor, /, *, pool, pad_value, level, return_index, out=None):
    pool = "mean" if pool == "average" else pool
    if return_index:
        check_index(pool, return_index)
    values = view(x.values)
    offsets = offsets_like(values, x.row_offsets(level))
    out = reduce_into(values, None, None, None, offsets, pool, pad_value, out)
    if not return_index:
        return above(x, level, out.array)
    index = argreduce_rows(pool, values, None, None, offsets, out.shape)
    return above(x, level, out.array), above(x, level, index.array)


@sequence_pool_grad.kernel("cuda")
def run_grad(x: LoDTensor, out: Dense, grad: Dense, /, *, pool, level):
    pool = "mean" if pool == "average" else pool
    values = view(x.values)
    offsets = offsets_like(values, x.row_offsets(level))
    return x.with_values(values_grad(values, None, None, offsets, None, view(out), grad, pool).array)
