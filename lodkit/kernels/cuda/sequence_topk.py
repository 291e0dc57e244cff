"""CUDA kernels of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert, fill
from ...arrays.cuda.ids import ids_of
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...jit import simd
from ...lod.levels import frozen
from ...lod.lod_tensor import LoDTensor
from ...ops.sequence_topk import (
    bad_index,
    check_chosen,
    check_matrices,
    check_steps,
    check_topks,
    sequence_topk,
    sequence_topk_avg_pooling,
    sequence_topk_avg_pooling_grad,
    sequence_topk_grad,
)
from ...registry import Dense
from ..common.matrices import matrix_rows
from .lengths import largest
from .primitives.gather import gather, put_rows
from .primitives.offsets import found_in, offsets_like
from .primitives.row_kernels import segment_of


@cuda.jit
def _list(positions, offsets, ends, segments, k, n, rows, indices):
    """The positions of all segments end to end, and where in their segments they are."""
    i = cuda.grid(1)
    while i < n:
        s = segment_of(ends, segments, i)
        rows[i] = vector.number(positions, s * k + i - vector.number(ends, s))
        indices[i] = rows[i] - vector.number(offsets, s)
        i += cuda.gridsize(1)


@sequence_topk.kernel("cuda")
def top(x: LoDTensor, /, *, k):
    values = view(x.values)
    check_steps(values, k)
    counts = np.minimum(x.lengths(), k)
    ends = frozen(np.concatenate([[0], np.cumsum(counts)]))
    n, k = int(ends[-1]), int(counts.max(initial=0))
    rows, indices, best = values.like((n,), np.int64), values.like((n,), np.int64), values.like((n,))
    if n:
        offsets = offsets_like(values, x.row_offsets())
        positions, starts = largest(values, offsets, k), offsets_like(values, ends).offsets
        launch(_list, n, positions, offsets.offsets, starts, len(counts), k, n, rows, indices)
        gather(values, rows, None, best)
    levels = *x._lod[:-1], ends
    return LoDTensor._wrap(best.array, levels), LoDTensor._wrap(indices.array, levels)


@cuda.jit
def _find_outside(indices, ends, offsets, segments, n, found):
    i = cuda.grid(1)
    while i < n:
        s, index = segment_of(ends, segments, i), vector.number(indices, i)
        if index < 0 or index >= vector.number(offsets, s + 1) - vector.number(offsets, s):
            vector.atomic_first(found, 0, i)
        i += cuda.gridsize(1)


@cuda.jit
def _find_rows(indices, ends, offsets, segments, n, rows):
    i = cuda.grid(1)
    while i < n:
        rows[i] = vector.number(offsets, segment_of(ends, segments, i)) + vector.number(indices, i)
        i += cuda.gridsize(1)


@sequence_topk_grad.kernel("cuda")
def top_grad(x: LoDTensor, indices: LoDTensor, grad: Dense, /):
    values, numbers, grad = view(x.values), ids_of(indices.values, "indices"), view(grad)
    dtype = check_values(values.dtype, "the gradient", floating=True)
    check_steps(values)
    check_chosen(x, indices)
    result, n = fill(values.like(values.shape), 0), len(numbers)
    offsets, ends = (offsets_like(values, t.row_offsets()).offsets for t in (x, indices))
    numbered = ends, offsets, len(offsets) - 1, n
    at = found_in(_find_outside, numbers, *numbered, slots=1)[0] if n else -1
    if at >= 0:
        raise bad_index(x, indices, numbers.read(), at)
    check_gradient(grad, numbers.shape)
    rows = values.like((n,), np.int64)
    launch(_find_rows, n, numbers, *numbered, rows)
    put_rows(rows, convert(grad, dtype), result)
    return result.array


@cuda.jit
def _average(values, positions, order, topks, count, k, n, out):
    """The sums of the first ``topks[q]`` of every row, over ``topks[q]``: a thread a row."""
    o = cuda.grid(1)
    while o < n:
        total, j, best = simd.full(values, 1, 0), 0, vector.number(order, o) * k
        for q in range(count):
            top = vector.number(topks, q)
            while j < min(top, k):
                at = vector.number(positions, best + j)
                total = simd.add(total, vector.load_where(at >= 0, values, at, 1))
                j += 1
            vector.store(out, o * count + q, simd.div(total, simd.like(total, top)))
        o += cuda.gridsize(1)


@cuda.jit
def _share(grad, positions, order, topks, count, k, n, out):
    """What every one of the largest gets, from all averages that it is in: a thread each."""
    i = cuda.grid(1)
    while i < n:
        o, j = i // k, i % k
        at, share = vector.number(positions, vector.number(order, o) * k + j), simd.full(grad, 1, 0)
        for q in range(count):
            top = vector.number(topks, q)
            if top > j:
                flow = vector.load(grad, o * count + q, 1)
                share = simd.add(share, simd.div(flow, simd.like(flow, top)))
        if at >= 0:
            vector.store(out, at, share)
        i += cuda.gridsize(1)


def _positions(x, row, column, topks, channels):
    """Values, positions of the k largest of the matrices' rows, the order of the result's, ``topks``; and k."""
    values = view(x.values)
    check_matrices(x, values, row, column, channels)
    offsets, order = matrix_rows(row.row_offsets(), column.row_offsets(), channels)
    k = max(1, min(int(topks[-1]), int(np.diff(offsets).max(initial=0))))
    values = values if len(values) else values.like((1,))  # which is not read, but has an address
    positions = largest(values.reshape(len(values)), offsets_like(values, offsets), k)
    return values, positions, values.send(order), values.send(topks), k


@sequence_topk_avg_pooling.kernel("cuda")
def pool(x: LoDTensor, row: LoDTensor, column: LoDTensor, /, *, topks, channel_num, out=None):
    topks = check_topks(topks, channel_num)
    values, positions, order, counts, k = _positions(x, row, column, topks, channel_num)
    out = output(values, (row.shape[0], channel_num * len(topks)), values.dtype, out)
    launch(_average, len(order), values, positions, order, counts, len(topks), k, len(order), out)
    return row.with_values(out.array)


@sequence_topk_avg_pooling_grad.kernel("cuda")
def pool_grad(x: LoDTensor, row: LoDTensor, column: LoDTensor, grad: Dense, /, *, topks, channel_num):
    topks = check_topks(topks, channel_num)
    values, positions, order, counts, k = _positions(x, row, column, topks, channel_num)
    check_gradient(view(grad), (row.shape[0], channel_num * len(topks)))
    result, n = fill(values.like(x.shape), 0), len(order) * k
    flow = convert(view(grad), values.dtype)
    launch(_share, n, flow, positions, order, counts, len(topks), k, n, result)
    return result.array
