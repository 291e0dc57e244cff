"""CPU kernels of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_values, integers, matrix, native, upcast
from ...jit import njit, parallel_kernel, prange, settings
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
from .primitives.gather import gather_kernel


def _plain(array):
    """Numbers that compute, one after another."""
    array = upcast(array).reshape(-1)
    return np.ascontiguousarray(array, native(array.dtype))


@njit
def _ends(offsets, k, ends):
    """Offsets of at most k of every segment; returns how many there are at most."""
    most = ends[0] = 0
    for s in range(len(offsets) - 1):
        count = min(offsets[s + 1] - offsets[s], k)
        most, ends[s + 1] = max(most, count), ends[s] + count
    return most


@njit
def _list(positions, offsets, ends, rows, indices):
    """The positions of all segments end to end, and where in their segments they are."""
    for s in range(len(positions)):
        for j in range(ends[s + 1] - ends[s]):
            rows[ends[s] + j] = positions[s, j]
            indices[ends[s] + j] = positions[s, j] - offsets[s]


@sequence_topk.kernel("cpu")
def top(x: LoDTensor, /, *, k):
    check_steps(x.values, k)
    offsets = x.row_offsets()
    ends = np.empty(len(offsets), np.int64)
    positions = np.empty((len(offsets) - 1, _ends(offsets, k, ends)), np.int64)
    largest(len(x.values), _plain(x.values), offsets, positions)
    rows, indices = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)
    _list(positions, offsets, ends, rows, indices)
    values = arrays.output(rows.shape, native(x.dtype))
    gather_kernel(values.size, matrix(x.values), rows, -1, settings.chunk_rows, matrix(values))
    levels = *x._lod[:-1], frozen(ends)
    return LoDTensor._wrap(values, levels), LoDTensor._wrap(indices, levels)


@njit
def _rows_of(indices, ends, offsets, rows):
    """Positions in the batch of indices in their segments; returns the first that is outside, or -1."""
    for s in range(len(offsets) - 1):
        for i in range(ends[s], ends[s + 1]):
            if indices[i] < 0 or indices[i] >= offsets[s + 1] - offsets[s]:
                return i
            rows[i] = offsets[s] + indices[i]
    return -1


@sequence_topk_grad.kernel("cpu")
def top_grad(x: LoDTensor, indices: LoDTensor, grad: Dense, /):
    dtype = check_values(x.dtype, "the gradient", floating=True)
    check_steps(x.values)
    check_chosen(x, indices)
    numbers, rows = integers(indices.values, "indices"), np.empty(len(indices.values), np.int64)
    at = _rows_of(numbers, indices.row_offsets(), x.row_offsets(), rows)
    if at >= 0:
        raise bad_index(x, indices, numbers, at)
    check_gradient(grad, numbers.shape)
    result = np.zeros(len(x.values), dtype)
    result[rows] = grad
    return result


@parallel_kernel
def _average(values, positions, order, topks, out):
    """The sums of the first ``topks[q]`` of every row, over ``topks[q]``."""
    for o in prange(len(order)):
        best, total, j = positions[order[o]], 0.0, 0
        for q in range(len(topks)):
            while j < min(topks[q], len(best)):
                total += values[best[j]] if best[j] >= 0 else 0.0
                j += 1
            out[o, q] = total / topks[q]


@parallel_kernel
def _share(grad, positions, order, topks, out):
    """What every one of the largest gets: from all averages that it is in."""
    for o in prange(len(order)):
        best = positions[order[o]]
        for j in range(len(best)):
            if best[j] >= 0:
                share = 0.0
                for q in range(len(topks)):
                    share += grad[o, q] / topks[q] if topks[q] > j else 0.0
                out[best[j]] = share


def _positions(x, row, column, topks, channels):
    """The numbers, the positions of the largest of every row of the matrices, and the order of the result's."""
    check_matrices(x, x.values, row, column, channels)
    offsets, order = matrix_rows(row.row_offsets(), column.row_offsets(), channels)
    values, longest = _plain(x.values), np.diff(offsets).max(initial=0)
    positions = np.empty((len(offsets) - 1, min(topks[-1], longest)), np.int64)
    largest(len(values), values, offsets, positions)
    return values, positions, order


@sequence_topk_avg_pooling.kernel("cpu")
def pool(x: LoDTensor, row: LoDTensor, column: LoDTensor, /, *, topks, channel_num, out=None):
    topks = check_topks(topks, channel_num)
    values, positions, order = _positions(x, row, column, topks, channel_num)
    out = arrays.output((len(row.values), channel_num * len(topks)), native(x.dtype), out)
    averages = np.empty((len(order), len(topks)), values.dtype)
    _average(positions.size, values, positions, order, topks, averages)
    out[...] = averages.reshape(out.shape)
    return row.with_values(out)


@sequence_topk_avg_pooling_grad.kernel("cpu")
def pool_grad(x: LoDTensor, row: LoDTensor, column: LoDTensor, grad: Dense, /, *, topks, channel_num):
    topks = check_topks(topks, channel_num)
    values, positions, order = _positions(x, row, column, topks, channel_num)
    check_gradient(grad, (len(row.values), channel_num * len(topks)))
    flow, result = _plain(grad.astype(values.dtype, copy=False)), np.zeros(len(values), values.dtype)
    _share(positions.size, flow.reshape(len(order), len(topks)), positions, order, topks, result)
    return result.reshape(x.values.shape).astype(native(x.dtype), copy=False)
