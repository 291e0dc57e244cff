"""CPU kernels of lodkit/ops/lengths.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import check_gradient, integers, matrix, words
from ...jit import jitable, njit, parallel_kernel, prange, settings
from ...ops import lengths as ops
from ..common.integers import to_comparable
from .conversions import lengths_to_offsets, to_offsets
from .primitives import device
from .primitives.gather import gather_kernel
from .primitives.gradient_kernels import place, plain


@jitable
def comes_before(values, a, b):
    """True if position a comes before b: NaN first, then larger values; of equal ones the first."""
    x, y = values[a], values[b]
    if x == y or (x != x and y != y):
        return a < b
    return x > y or x != x


@jitable
def sink(values, heap, at, count):
    """Let a position of the heap, whose top comes last of all, sink to where it belongs."""
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and comes_before(values, heap[child], heap[child + 1]):
            child += 1
        if comes_before(values, heap[child], heap[at]):
            break
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@parallel_kernel
def largest(values, offsets, positions):
    """Positions of the largest values of every segment, in order: a heap holds the largest so far."""
    for s in prange(len(offsets) - 1):
        start, heap = offsets[s], positions[s]
        count = min(offsets[s + 1] - start, len(heap))
        for j in range(len(heap)):
            heap[j] = start + j if j < count else -1
        if count == 0:
            continue
        for at in range(count // 2, -1, -1):
            sink(values, heap, at, count)
        least = values[heap[0]]
        for i in range(start + count, offsets[s + 1]):
            if not values[i] <= least and comes_before(values, i, heap[0]):
                heap[0] = i
                sink(values, heap, 0, count)
                least = values[heap[0]]
        for last in range(count - 1, 0, -1):
            heap[0], heap[last] = heap[last], heap[0]
            sink(values, heap, 0, last)


@njit
def _shift(numbers, offsets, sign, out):
    """Convert positions in the batch to indices in their segments, or back; -1 stays."""
    for s in range(len(numbers)):
        for j in range(numbers.shape[1]):
            out[s, j] = numbers[s, j] + sign * offsets[s] if numbers[s, j] >= 0 else -1


@ops.lengths_top_k.kernel("cpu")
def lengths_top_k(values, lengths, /, *, k):
    dtype, offsets = ops.check_top_k(values, k), to_offsets(lengths, "lengths", len(values))
    positions = np.empty((len(offsets) - 1, k), np.int64)
    top = arrays.output(positions.shape, dtype)
    largest(len(values), plain(to_comparable(device, values)), offsets, positions)
    gather_kernel(0)(top.size, words(values), positions.reshape(-1), -1, settings.chunk_rows, words(top.reshape(-1)))
    _shift(positions, offsets, -1, positions)
    return top, positions


@njit
def _find_outside(indices, offsets):
    """Position of the first index outside its segment, or -1."""
    for s in range(len(indices)):
        for j in range(indices.shape[1]):
            if indices[s, j] < -1 or indices[s, j] >= offsets[s + 1] - offsets[s]:
                return s * indices.shape[1] + j
    return -1


@ops.lengths_top_k_grad.kernel("cpu")
def lengths_top_k_grad(values, lengths, indices, grad, /):
    dtype = ops.check_top_k(values, what="the gradient", floating=True)
    offsets, indices = to_offsets(lengths, "lengths", len(values)), np.array(integers(indices, "indices"))
    ops.check_indices(indices, len(offsets) - 1)
    at = _find_outside(indices, offsets)
    if at >= 0:
        raise ops.bad_index(indices, np.diff(offsets), *divmod(at, indices.shape[1]))
    check_gradient(grad, indices.shape)
    result, positions = np.zeros(len(values), dtype), np.empty_like(indices)
    _shift(indices, offsets, 1, positions)
    grad = grad.astype(dtype, copy=False).reshape(-1)
    place(grad.size, matrix(grad), positions.reshape(-1, 1), matrix(result))
    return result


@parallel_kernel
def _split(lengths, parts, out):
    for i in prange(len(lengths)):
        each, more = lengths[i] // parts, lengths[i] % parts
        for j in range(parts):
            out[i, j] = each + (j < more)


@ops.lengths_split.kernel("cpu")
def lengths_split(lengths, /, *, n_split):
    ops.check_split(n_split)
    lengths = integers(lengths, "lengths")
    lengths_to_offsets(lengths)
    out = np.empty((len(lengths), n_split), np.int64)
    _split(out.size, lengths, n_split, out)
    return out.reshape(-1)
