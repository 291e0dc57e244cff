"""Kernels of lodkit/ops/sequence_pool.py."""

from __future__ import annotations

from ... import ops
from ...lod import LoDTensor
from ...ops.sequence_pool import reduction, with_outer_levels


def _loops(on, x, /, *, pool, level, return_index, dtype, **attrs):
    return [on.reduce_loop(reduction(pool, return_index), x._values, None, None, None, x._row_offsets(level), dtype)]


def _specialize(on, x, /, *, pool, level, return_index, dtype):
    if level not in (0, -1):
        return None
    reduce = reduction(pool, return_index, dtype)
    if return_index:
        return lambda values, offsets, pad, out=None: on.reduce_with_index(reduce, values, offsets, pad, out)
    reduce_rows = on.specialize_reduction(x._values, False, None, reduce, dtype)
    return lambda values, offsets, pad, out=None: reduce_rows(values, None, offsets, None, pad, None, out)


@ops.sequence_pool.kernel("cpu", "cuda", choose_loops=_loops, specialize=_specialize)
def sequence_pool(on, x: LoDTensor, /, *, pool, pad_value, level, return_index, dtype, out=None):
    reduce = reduction(pool, return_index, dtype) if return_index or pool == "average" else pool
    values, levels = x._values, x._lod
    offsets = levels[-1] if level == -1 and levels else x._row_offsets(level)
    if return_index:
        return tuple(
            with_outer_levels(x, level, a) for a in on.reduce_with_index(reduce, values, offsets, pad_value, out)
        )
    out = on.reduce_into(values, None, None, None, offsets, reduce, pad_value, out, dtype)
    return out if len(levels) == 1 else with_outer_levels(x, level, out)


@ops.sequence_pool_grad.kernel("cpu", "cuda")
def sequence_pool_grad(on, x: LoDTensor, out, grad, /, *, pool, level):
    values = x.values
    offsets = x._row_offsets(level)
    grad = on.values_grad(values, None, None, offsets, None, out, grad, reduction(pool))
    return x.with_values(grad)
