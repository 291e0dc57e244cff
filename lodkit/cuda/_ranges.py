"""Ranges of rows, copied on a GPU from one array to another."""

from __future__ import annotations

import functools

import numpy as np

from . import vector
from ._reduce import group_of, width_of
from ._row_kernels import segment_of
from .launch import cuda, launch


@functools.cache
def _range_kernel(width):
    @cuda.jit
    def kernel(source, starts, to, offsets, ranges, columns, bits, n, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            r = segment_of(offsets, ranges, i)
            k = i - vector.number(offsets, r)
            row, place = (vector.number(starts, r) + k) * columns, (vector.number(to, r) + k) * columns
            j = lane * width
            while j < columns:
                vector.store(out, place + j, vector.load(source, row + j, width))
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def copy_ranges(source, starts, stops, out, to):
    """Copy the rows ``source[starts[r]:stops[r]]`` to ``out[to[r]:]``.

    Parameters
    ----------
    source, out : View
    starts, stops, to : int64 arrays on the CPU
        Ranges inside both arrays; those of ``out`` do not overlap.
    """
    n, rows = len(starts), int((stops - starts).sum())
    if not rows * source.columns:
        return
    sent = source.send(np.concatenate([starts, to, np.zeros(1, np.int64), np.cumsum(stops - starts)]))
    starts, to, offsets = sent.part(0, n), sent.part(n, 2 * n), sent.part(2 * n, 3 * n + 1)
    columns, width = source.columns, width_of(source.columns, source, out)
    bits = group_of(columns, width)
    launch(_range_kernel(width), rows << bits, source, starts, to, offsets, n, columns, bits, rows, out)
