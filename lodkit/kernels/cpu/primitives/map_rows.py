"""Arithmetic between every row and the value of its segment."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import matrix
from ....jit import parallel_kernel, prange, segment_of, settings, simd
from .flat_kernels import LANES
from .reduce import width_of
from .templates import row_kernel


@functools.cache
def _items_kernel(step, width):
    """Kernel of ``out[i] = step(x[i], values[s])``."""

    def body(i, s, j, x, values, unused, offsets, out):
        simd.store(out, i, j, step(simd.load(x, i, j, width), simd.load(values, s, j, width)))

    return row_kernel(body, width)


@functools.cache
def _numbers_kernel(step):
    """Kernel of the same with one number per sequence: its rows are a run of numbers, ``columns`` per row."""

    @parallel_kernel
    def kernel(x, values, offsets, columns, chunk, out):
        rows = offsets[-1]
        for c in prange((rows + chunk - 1) // chunk):
            first, last = c * chunk, min(rows, (c + 1) * chunk)
            s = segment_of(offsets, first)
            while first < last:
                end = min(offsets[s + 1], last)
                by, stop = simd.full(x, LANES, simd.lane(simd.load(values, s, 0, 1), 0)), end * columns
                for i in range(first * columns, stop, LANES):
                    lanes = simd.load_first(x, 0, i, LANES, stop - i, 1)
                    simd.store_first(out, 0, i, step(lanes, by), stop - i)
                first, s = end, s + 1

    return kernel


def map_rows(step, rows, by, offsets, out, is_number=False):
    """``out[i] = step(rows[i], by[s])`` for every row i of segment s; ``step`` takes and returns vectors of ``simd``.

    ``by`` has an item per segment, or a number. ``out`` may be ``rows``. Kernels are kept by ``step``: make it a
    function of a module.
    """
    kind = np.dtype(np.float32) if out.dtype == np.float16 else out.dtype
    # ``by`` holds lengths or sums, which float16 would round.
    source, to, by = matrix(rows), matrix(out), matrix(by.astype(kind, copy=False))
    columns = source.shape[1]
    if is_number or columns == 1:
        flat = source.reshape(1, -1), by, offsets, columns, settings.chunk_rows, to.reshape(1, -1)
        _numbers_kernel(step)(rows.size, *flat)
    else:
        width = width_of(columns)
        if out is rows and columns % width:
            # The last strip of a row overlaps the one before, and would read what that wrote.
            source = source.copy()
        _items_kernel(step, width)(rows.size, source, by, 0, offsets, settings.chunk_rows, to)
