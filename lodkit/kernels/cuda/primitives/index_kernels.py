"""The template of extremes with their positions: of equal ones the first, of NaNs the first of those."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import cuda, device, vector
from ....jit import simd
from .reduce_kernels import FULL_WARP_MASK, reader


def _order(largest):
    """Whether a number comes before another."""
    if largest:
        return device(lambda x, best: x > best or (x != x and best == best))
    return device(lambda x, best: x < best or (x != x and best == best))


@functools.cache
def index_kernel(largest, width, stride, gather, of_tiles, kind):
    """The kernel that finds the extreme of each column of every segment, and where it is.

    Parameters
    ----------
    largest : bool
    width : int
        Elements that a thread takes at once.
    stride : int
        1, or 32 where a warp shares the rows of a segment: then there is one column.
    gather : bool
    of_tiles : bool
        Rows are the extremes of tiles, and ``places`` has their positions.
    kind : numpy.dtype
        Type in which values are compared.
    """
    read, before = reader(width, gather), _order(largest)

    @device
    def combine_lanes(best, at):
        """The first of the extremes that a warp's lanes have found."""
        for k in range(5):
            other = cuda.shfl_xor_sync(FULL_WARP_MASK, best, 1 << k)
            place = cuda.shfl_xor_sync(FULL_WARP_MASK, at, 1 << k)
            equal = not before(other, best) and not before(best, other)
            if place >= 0 and (at < 0 or before(other, best) or (equal and place < at)):
                best, at = other, place
        return best, at

    @cuda.jit
    def kernel(values, ids, places, offsets, pad, padding, height, columns, bits, segments, out, index):
        best, at = cuda.local.array(width, kind), cuda.local.array(width, np.int64)
        thread = cuda.grid(1)
        s, lane = thread >> bits, thread & ((1 << bits) - 1)
        while s < segments:
            j = 0 if stride > 1 else lane * width
            while j < columns:
                for k in range(width):
                    best[k], at[k] = pad, -1
                for i in range(offsets[s] + (lane if stride > 1 else 0), offsets[s + 1], stride):
                    x = read(values, ids, i, j, columns, height, padding, ids)
                    for k in range(width):
                        number = simd.lane(x, k)
                        if at[k] < 0 or before(number, best[k]):
                            best[k], at[k] = number, vector.number(places, i * columns + j + k) if of_tiles else i
                if stride > 1:
                    best[0], at[0] = combine_lanes(best[0], at[0])
                for k in range(width):
                    if stride == 1 or lane == 0:
                        vector.store(out, s * columns + j + k, simd.full(values, 1, best[k]))
                        index[s * columns + j + k] = at[k]
                j += width << bits
            s += cuda.gridsize(1) >> bits

    return kernel
