"""CUDA kernels of lodkit/ops/lengths.py."""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import check_gradient
from ...arrays.cuda import cuda, device, elementwise, fill, ids_of, launch, vector, view
from ...ops import lengths as ops
from ..common.integers import to_comparable
from .conversions import from_lengths, integers, to_offsets
from .primitives import device as gpu
from .primitives.gather import gather
from .primitives.offsets import find_facts, settings
from .primitives.reduce_kernels import FULL_WARP_MASK, WARP
from .primitives.scan import WARP_BITS


@device
def comes_before(values, a, b):
    """True if position a comes before b: NaN first, then larger values; of equal ones the first. None is -1."""
    if a < 0 or b < 0:
        return a >= 0
    x, y = vector.number(values, a), vector.number(values, b)
    if x == y or (x != x and y != y):
        return a < b
    return x > y or x != x


@functools.cache
def top_k_kernel(given, before=comes_before):
    """Kernel in which a warp finds, k times, the first of the rest of its segment: of rows, or of given candidates.

    ``before`` says which of two positions comes first. A segment has ``times`` as many candidates as its offsets say.
    ``positions`` are -1 before.
    """

    @cuda.jit
    def kernel(values, candidates, offsets, segments, times, k, positions):
        s, lane = cuda.grid(1) >> WARP_BITS, cuda.threadIdx.x & (WARP - 1)
        while s < segments:
            start, stop = vector.number(offsets, s) * times, vector.number(offsets, s + 1) * times
            last, j = np.int64(-1), 0
            while j < min(k, stop - start):
                best, i = np.int64(-1), start + lane
                while i < stop:
                    here = vector.number(candidates, i) if given else i
                    if before(values, here, best) and (last < 0 or before(values, last, here)):
                        best = here
                    i += WARP
                for bit in range(WARP_BITS):
                    other = cuda.shfl_xor_sync(FULL_WARP_MASK, best, 1 << bit)
                    if before(values, other, best):
                        best = other
                if lane == 0 and best >= 0:
                    positions[s * k + j] = best
                last, j = best, j + 1 if best >= 0 else k
            s += cuda.gridsize(1) >> WARP_BITS

    return kernel


def _run(values, candidates, offsets, times, k):
    segments = len(offsets) - 1
    positions = fill(values.like((segments, k), np.int64), -1)
    given = candidates is not None
    # Without candidates the argument may be any array.
    some = candidates if given else offsets
    launch(top_k_kernel(given), segments << WARP_BITS, values, some, offsets, segments, times, k, positions)
    return positions


def largest(values, offsets, k):
    """Positions of the k largest of every segment, -1 behind the last; of a long segment, from those of its tiles."""
    values, candidates, times = to_comparable(gpu, values), None, 1
    while offsets.tiles is not None and 2 * k <= settings.tile_rows:
        candidates = _run(values, candidates, offsets.tiles, times, k)
        offsets, times = offsets.tile_offsets, k
    return _run(values, candidates, offsets.offsets, times, k)


@elementwise
def _to_segment_index(i, positions, offsets, k, indices):
    position = vector.number(positions, i)
    indices[i] = position - vector.number(offsets, i // k) if position >= 0 else -1


@ops.lengths_top_k.kernel("cuda")
def lengths_top_k(values, lengths, /, *, k):
    values = view(values)
    ops.check_top_k(values, k)
    offsets = to_offsets(lengths, "lengths", len(values))
    positions = largest(values, offsets, k)
    top, n = values.like(positions.shape), positions.size
    gather(values, positions.reshape(n), None, top.reshape(n))
    return top.array, _to_segment_index.into(positions.like(positions.shape), positions, offsets.offsets, k).array


@elementwise
def _find_outside(i, indices, offsets, k, found):
    s, index = i // k, vector.number(indices, i)
    if index < -1 or index >= vector.number(offsets, s + 1) - vector.number(offsets, s):
        vector.atomic_first(found, 0, i)


@elementwise
def _put_back(i, grad, indices, offsets, k, out):
    index = vector.number(indices, i)
    if index >= 0:
        vector.store(out, vector.number(offsets, i // k) + index, vector.load(grad, i, 1))


@ops.lengths_top_k_grad.kernel("cuda")
def lengths_top_k_grad(values, lengths, indices, grad, /):
    values, indices, grad = view(values), ids_of(indices, "indices"), view(grad)
    ops.check_top_k(values, what="the gradient", floating=True)
    offsets = to_offsets(lengths, "lengths", len(values)).offsets
    ops.check_indices(indices, len(offsets) - 1)
    k, n = indices.columns, indices.size
    at = find_facts(_find_outside, indices, offsets, k, count=1)[0] if n else -1
    if at >= 0:
        raise ops.bad_index(indices.read(), np.diff(offsets.read()), *divmod(at, k))
    check_gradient(grad, indices.shape)
    result = fill(values.like(values.shape), 0)
    _put_back(n, grad, indices, offsets, k, result)
    return result.array


@elementwise
def _split(i, lengths, parts, out):
    length = vector.number(lengths, i // parts)
    out[i] = length // parts + (1 if i % parts < length % parts else 0)


@ops.lengths_split.kernel("cuda")
def lengths_split(lengths, /, *, n_split):
    ops.check_split(n_split)
    lengths = integers(lengths, "lengths")
    from_lengths(lengths)
    return _split.into(lengths.like((lengths.size * n_split,), np.int64), lengths, n_split).array
