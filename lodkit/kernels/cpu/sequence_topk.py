"""CPU kernels of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...jit import njit, parallel_kernel, prange
from ...lod.selection import part_numbers
from ..common.integers import to_comparable
from .lengths import largest
from .primitives import device
from .primitives.gradient_kernels import plain


def top_rows(values, offsets, k):
    """Offsets of the k largest of each segment, their positions, and their indices in their segments."""
    ends = np.empty(len(offsets), np.int64)
    positions = np.empty((len(offsets) - 1, _ends(offsets, k, ends)), np.int64)
    largest(len(values), plain(to_comparable(device, values.reshape(-1))), offsets, positions)
    rows, indices = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)
    _list(positions, offsets, ends, rows, indices)
    return ends, rows, indices


@njit
def _ends(offsets, k, ends):
    """Offsets of at most k of each segment; returns the largest number of one."""
    most = ends[0] = 0
    for s in range(len(offsets) - 1):
        count = min(offsets[s + 1] - offsets[s], k)
        most, ends[s + 1] = max(most, count), ends[s] + count
    return most


@njit
def _list(positions, offsets, ends, rows, indices):
    """Positions of all segments end to end, and their indices in their segments."""
    for s in range(len(positions)):
        for j in range(ends[s + 1] - ends[s]):
            rows[ends[s] + j] = positions[s, j]
            indices[ends[s] + j] = positions[s, j] - offsets[s]


def rows_of(indices, ends, offsets):
    """The first index outside its segment, or -1; and the positions in the batch of all."""
    rows, bad = part_numbers(offsets, ends, indices)
    return bad, rows


def place_gradient(rows, grad, like):
    """An array like ``like`` with the gradient at these rows, zeros elsewhere."""
    result = np.zeros(len(like), native(like.dtype))
    result[rows] = grad
    return result


def _positions(values, offsets, k):
    """Positions of at most k largest of each segment, -1 behind the last."""
    positions = np.empty((len(offsets) - 1, min(k, np.diff(offsets).max(initial=0))), np.int64)
    largest(len(values), values, offsets, positions)
    return positions


def average(values, offsets, order, topks, out):
    """Averages of the ``topks`` largest of each segment, in this order of the segments, into ``out``."""
    values = plain(values.reshape(-1))
    positions, averages = _positions(values, offsets, topks[-1]), np.empty((len(order), len(topks)), values.dtype)
    _average(positions.size, values, positions, order, topks, averages)
    out[...] = averages.reshape(out.shape)


def average_grad(values, grad, offsets, order, topks):
    """Gradient of the averages by the values."""
    x = plain(values.reshape(-1))
    g = plain(grad.reshape(len(order), len(topks)).astype(x.dtype, copy=False))
    positions, result = _positions(x, offsets, topks[-1]), np.zeros_like(x)
    _share(positions.size, g, positions, order, topks, result)
    return result.reshape(values.shape).astype(native(values.dtype), copy=False)


@parallel_kernel
def _average(values, positions, order, topks, out):
    """Sum of the first ``topks[q]`` of each row, over ``topks[q]``."""
    for o in prange(len(order)):
        best, total, j = positions[order[o]], 0.0, 0
        for q in range(len(topks)):
            while j < min(topks[q], len(best)):
                total += values[best[j]] if best[j] >= 0 else 0.0
                j += 1
            out[o, q] = total / topks[q]


@parallel_kernel
def _share(grad, positions, order, topks, out):
    """Gradient of each selected element, summed over its averages."""
    for o in prange(len(order)):
        best = positions[order[o]]
        for j in range(len(best)):
            if best[j] >= 0:
                share = 0.0
                for q in range(len(topks)):
                    share += grad[o, q] / topks[q] if topks[q] > j else 0.0
                out[best[j]] = share
