"""CUDA kernels of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, elementwise, fill, vector
from ...jit import simd
from ...lod.offsets import lengths_to_offsets
from .lengths import largest
from .primitives.gather import put_rows
from .primitives.offsets import find_facts, offsets_like
from .primitives.row_kernels import segment_of


@elementwise
def _list(i, positions, offsets, ends, segments, k, rows, indices):
    """Positions of all segments end to end, and their indices in their segments."""
    s = segment_of(ends, segments, i)
    rows[i] = vector.number(positions, s * k + i - vector.number(ends, s))
    indices[i] = rows[i] - vector.number(offsets, s)


def top_rows(values, offsets, k):
    """Offsets, on the CPU, of the k largest of each segment, their positions, and their indices in their segments."""
    counts = np.minimum(np.diff(offsets), k)
    ends = lengths_to_offsets(counts)
    n, k = int(ends[-1]), int(counts.max(initial=0))
    rows, indices = values.like((n,), np.int64), values.like((n,), np.int64)
    if n:
        sent, starts = offsets_like(values, offsets), offsets_like(values, ends).offsets
        _list(n, largest(values, sent, k), sent.offsets, starts, len(counts), k, rows, indices)
    return ends, rows, indices


@elementwise
def _find_outside(i, indices, ends, offsets, segments, found):
    s, index = segment_of(ends, segments, i), vector.number(indices, i)
    if index < 0 or index >= vector.number(offsets, s + 1) - vector.number(offsets, s):
        vector.atomic_first(found, 0, i)


@elementwise
def _find_rows(i, indices, ends, offsets, segments, rows):
    rows[i] = vector.number(offsets, segment_of(ends, segments, i)) + vector.number(indices, i)


def rows_of(indices, ends, offsets):
    """The first index outside its segment, or -1; and the positions in the batch of all. Synchronises."""
    rows = indices.like((len(indices),), np.int64)
    if not len(rows):
        return -1, rows
    numbers = *(offsets_like(indices, each).offsets for each in (ends, offsets)), len(offsets) - 1
    at = find_facts(_find_outside, indices, *numbers, count=1)[0]
    return at, rows if at >= 0 else _find_rows.into(rows, indices, *numbers)


def place_gradient(rows, grad, like):
    """An array like ``like`` with the gradient at these rows, zeros elsewhere."""
    return put_rows(rows, convert(grad, like.dtype), fill(like.like(like.shape), 0))


@elementwise
def _average(o, values, positions, order, topks, count, k, out):
    """Sum of the first ``topks[q]`` of each row, over ``topks[q]``: one thread per row."""
    total, j, best = simd.full(values, 1, 0), 0, vector.number(order, o) * k
    for q in range(count):
        top = vector.number(topks, q)
        while j < min(top, k):
            at = vector.number(positions, best + j)
            total = simd.add(total, vector.load_where(at >= 0, values, at, 1))
            j += 1
        vector.store(out, o * count + q, simd.div(total, simd.like(total, top)))


@elementwise
def _share(i, grad, positions, order, topks, count, k, out):
    """Gradient of each selected element, summed over its averages: one thread each."""
    o, j = i // k, i % k
    at, share = vector.number(positions, vector.number(order, o) * k + j), simd.full(grad, 1, 0)
    for q in range(count):
        top = vector.number(topks, q)
        if top > j:
            g = vector.load(grad, o * count + q, 1)
            share = simd.add(share, simd.div(g, simd.like(g, top)))
    if at >= 0:
        vector.store(out, at, share)


def _positions(values, offsets, order, topks):
    """Values, positions of the k largest of each segment, order and ``topks`` on the device; their number, and k."""
    # The values are not read, but need an address.
    values = values if len(values) else values.like((1,))
    k = max(1, min(int(topks[-1]), int(np.diff(offsets).max(initial=0))))
    positions = largest(values.reshape(len(values)), offsets_like(values, offsets), k)
    return values, positions, values.send(order), values.send(topks), len(topks), k


def average(values, offsets, order, topks, out):
    """Averages of the ``topks`` largest of each segment, in this order of the segments, into ``out``."""
    _average(len(order), *_positions(values, offsets, order, topks), out)


def average_grad(values, grad, offsets, order, topks):
    """Gradient of the averages by the values."""
    result, (_, *positions) = fill(values.like(values.shape), 0), _positions(values, offsets, order, topks)
    _share(len(order) * positions[-1], convert(grad, values.dtype), *positions, result)
    return result
