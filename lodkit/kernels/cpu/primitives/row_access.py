"""How kernels of reductions reach rows: by order or by ids, prefetched, bounded by the table, plain or packed."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ....base.float8 import FLOAT8
from ....jit import jitable, simd
from ....jit.tuning import tuning
from ....lod.packed_rows import CODE_BITS, PARAMS_BYTES

#: Functions of vectors and numbers, of which Numba makes one version without reference counts.
inline_without_nrt = jitable(inline=True, nrt=False)
FIRST_LEVEL = 3  # LLVM's number of that cache


class Prefetch(NamedTuple):
    """How a kernel prefetches rows: not at all, if those are in the second-level cache, as it would take a third of the
    time of bags and sums (emeraldrapids). Each way has a kernel of its own: to test for it in every segment and row,
    and the registers for that, took a tenth to a third of the time of bags in the caches (znver5).

    Attributes
    ----------
    level : int
        LLVM's number of the cache that rows are prefetched into; 0 for no prefetch.
    alternate : bool
        Prefetch every second line of a row. By ids alone.
    again : bool
        Prefetch all lines of a row once more, nearer to its use. By ids alone.
    astride : bool
        Prefetch also the line that a row ends in, if it begins amid one. By ids alone.
    """

    level: int = 0
    alternate: bool = False
    again: bool = False
    astride: bool = True


NO_PREFETCH = Prefetch()


@functools.cache
def access(width, gather, prefetch):
    """Return the row of the i-th value; prefetch rows i + distance and i + near_distance.

    The caller guarantees that they exist (``rows_left_by``). With ``gather`` rows go by ids: such a row may begin
    amid a cache line, and the line that it ends in is fetched too. (To find that out per call took longer: 20 us
    behind a table that fills the caches.)
    """
    level, alternate, again, astride = prefetch

    @inline_without_nrt
    def row_of(values, ids, i, j, distance, near_distance):
        if level:
            simd.prefetch_lanes(values, i + distance, j, width, False, level)
        return i

    @inline_without_nrt
    def gathered_row_of(values, ids, i, j, distance, near_distance):
        simd.keep_loop_rolled()
        if alternate:
            simd.prefetch_alternate(values, ids[np.uint64(i + distance)], j, width, level)
        elif level:
            simd.prefetch_lanes(values, ids[np.uint64(i + distance)], j, width, astride, level)
        if again:
            simd.prefetch_lanes(values, ids[np.uint64(i + near_distance)], j, width, True, level)
        return ids[np.uint64(i)]

    return gathered_row_of if gather else row_of


@functools.cache
def rows_left_by(gather):
    """Clamp prefetch distances to the number of rows behind a block of a segment.

    Clamped row by row, bags of 16 to 48 columns took 1.1 to 1.25 of the time (znver5); by the whole segment, a long one
    would end in rows that nobody prefetched.
    """

    @inline_without_nrt
    def rows_left(values, ids, stop, distance, near_distance):
        left = (len(ids) if gather else len(values)) - stop
        return min(distance, left), min(near_distance, left)

    return rows_left


@functools.cache
def bound_row(gather):
    """Make a function that bounds a row by the table. An id is clamped, without a branch: another thread may have
    written it since it was checked. The table must have a row.
    """

    @inline_without_nrt
    def keep_row(values, row):
        return row

    @inline_without_nrt
    def clamp_row(values, row):
        return min(np.uint64(row), np.uint64(len(values) - 1))

    return clamp_row if gather else keep_row


def choose_load(gather):
    """Return how W columns of a row are loaded: by ids in another order than in memory, on CPUs that prefer it."""
    return simd.load_last_line_first if gather and tuning.last_line_first else simd.load


@functools.cache
def row_reader(width, gather, prefetch):
    """Make a function that reads W columns of the row of the i-th value: zeros of a padding row."""
    row_of, bound, load = access(width, gather, prefetch), bound_row(gather), choose_load(gather)

    @inline_without_nrt
    def read(values, ids, padding, i, j, distance, near_distance):
        row = row_of(values, ids, i, j, distance, near_distance)
        # Without a branch, by selected lanes, a logsumexp takes 1.04 of the time (znver4).
        if gather and row == padding:
            return simd.full(values, width, 0.0)
        return load(values, bound(values, row), j, width)

    return read


@functools.cache
def row_adder(step, width, gather, weighted):
    """Make two functions: W lanes of a number, and a sum with W columns of a row added to it."""
    load = choose_load(gather)

    @inline_without_nrt
    def lanes_of(values, weights, number):
        return simd.full(values, width, number)

    @inline_without_nrt
    def add_row(total, values, weights, i, row, j):
        x = load(values, row, j, width)
        return simd.fma(x, simd.full(values, width, weights[i]), total) if weighted else step(total, x)

    return lanes_of, add_row


@functools.cache
def packed_reader(bits, width):
    """Make two functions: scale and bias of a packed row, and W of its columns, by these.

    Lanes are codes as bytes hold them: the lowest bits of all bytes first, then the next. The scale of float8 stands in
    a column of one number or of one for each row; there is no bias.
    """
    each, size, params = 8 // CODE_BITS[bits], width * CODE_BITS[bits] // 8, PARAMS_BYTES[bits]

    @inline_without_nrt
    def line_of(rows, scales, row):
        pair = simd.load_params(rows, row, rows.shape[1] - params, bits)
        return simd.lane(pair, 0), simd.lane(pair, 1)

    @inline_without_nrt
    def read(rows, row, j, scale, bias):
        return simd.load_packed(rows, row, j // each, size, bits, scale, bias)

    @inline_without_nrt
    def scale_of(rows, scales, row):
        return scales[min(np.uint64(row), np.uint64(len(scales) - 1)), 0], np.float32(0)

    @inline_without_nrt
    def read_float8(rows, row, j, scale, bias):
        x = simd.load_float8(rows, row, j, width, bits)
        return simd.mul(x, simd.like(x, scale))

    return (scale_of, read_float8) if bits in FLOAT8 else (line_of, read)


@functools.cache
def packed_row_adder(bits, width, gather, weighted):
    """Make the functions of ``row_adder`` for packed rows, which are summed in float32, as their weights are.

    Lanes are put in order once per segment, not once per row; codes are loaded in one way, by ids or in order.
    """
    line_of, read = packed_reader(bits, width)

    @inline_without_nrt
    def lanes_of(rows, weights, number):
        return simd.full(weights, width, number)

    @inline_without_nrt
    def add_row(total, rows, weights, i, row, j):
        scale, bias = line_of(rows, None, row)
        if weighted:
            scale, bias = scale * weights[i], bias * weights[i]
        return simd.add(total, read(rows, row, j, scale, bias))

    return lanes_of, add_row


@functools.cache
def float8_row_adder(name, width, gather, weighted):
    """Make the same for rows in float8; ``weights`` are a pair, of those of the rows and the column of scales."""
    scale_of, read = packed_reader(name, width)

    @inline_without_nrt
    def lanes_of(rows, weights, number):
        return simd.full(weights[0], width, number)

    @inline_without_nrt
    def add_row(total, rows, weights, i, row, j):
        scale, bias = scale_of(rows, weights[1], row)
        return simd.add(total, read(rows, row, j, scale * weights[0][i] if weighted else scale, bias))

    return lanes_of, add_row


@functools.cache
def scale_prefetch(fetches):
    """Make a function that prefetches the scale of a row of float8, of ``weights`` as ``float8_row_adder`` has them."""

    @inline_without_nrt
    def fetch_scale(weights, ids, i):
        scales = weights[1]
        simd.prefetch(scales, min(np.uint64(ids[np.uint64(i)]), np.uint64(len(scales) - 1)), 0, 4)

    @inline_without_nrt
    def fetch_nothing(weights, ids, i):
        pass

    return fetch_scale if fetches else fetch_nothing
