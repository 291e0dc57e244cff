"""Runs of equal rows in sorted order, and their sums, which an update or a merge needs.

In sorted ids a run is found where it is used: nobody waits to be told how many there are, or how long. A run of more
than ``settings.run_rows`` is summed by tiles of so many rows, and those of a very long one by groups of as many tiles:
the first by whoever takes the run, the others before it by a kernel of their own, for which any position says whether a
tile starts there. So bits depend on the run alone.
"""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, launch, vector
from ....jit import simd
from .offsets import settings
from .reduce import group_of, width_of
from .row_kernels import lower_bound, segment_of


def run_of(by_ids):
    """Function of a number of a run, or of a position among sorted ids: the row, and where its run starts and stops."""

    @device
    def listed_run(at, starts, u, count, height):
        return vector.number(at, u), vector.number(starts, u), vector.number(starts, u + 1)

    @device
    def find_run(ids, starts, i, count, height):
        row, stop = vector.number(ids, i), i
        if row < height and (i == 0 or vector.number(ids, i - 1) != row):
            stop = end_of_run(ids, i, count)
        return row, i, stop

    return find_run if by_ids else listed_run


@device
def end_of_run(ids, start, n):
    """Where the run of sorted ids ends that starts here, by longer and longer steps: most have one id."""
    row, last, step = vector.number(ids, start), start, 1
    while last + step < n and vector.number(ids, last + step) == row:
        last += step
        step *= 2
    return lower_bound(ids, last + 1, min(last + step, n), row + 1)


def _tile_after(by_ids):
    """Function of a place: the tile of a run, but not its first, that starts there or less than a tile behind.

    There is one at most, as its run has the position before the place; if there is none, an empty one.
    """

    @device
    def listed_tile(at, starts, place, tile, count, height):
        s, start, stop = segment_of(starts, count, place - 1), place, place
        if s < count:
            run = vector.number(starts, s)
            start = run + (place - run + tile - 1) // tile * tile
            stop = min(start + tile, vector.number(starts, s + 1))
        return start, stop

    @device
    def find_tile(ids, starts, place, tile, n, height):
        row, start, stop = vector.number(ids, place - 1), place, place
        if row < height and vector.number(ids, place) == row:
            run = lower_bound(ids, 0, place - 1, row)
            start = run + (place - run + tile - 1) // tile * tile
            stop = lower_bound(ids, start, min(start + tile, n), row + 1) if start < n else start
        return start, stop

    return find_tile if by_ids else listed_tile


def _rows(width, gather, weighted):
    """The sum of some rows, in order, times ``scale`` where it is weighted."""

    @device
    def rows(value, order, scale, start, stop, j, columns):
        total, i = simd.full(value, width, 0), start
        while i < stop:
            row = vector.number(order, i) if gather else i
            g = vector.load(value, row * columns + j, width)
            if weighted:
                # rounded as a gradient's rows are, of which an update by its own rounds to the same bits
                g = simd.mul_rounded(g, simd.like(g, vector.number(scale, i)))
            total = simd.add(total, g)
            i += 1
        return total

    return rows


@functools.cache
def tiles_kernel(width, by_ids, gather, weighted):
    """Kernel of the sums of all tiles of runs but the first: of ``tile`` positions, which have a row for each ``unit``.

    ``out[q]`` gets the tile that starts at ``q * tile``, or behind it and before the next multiple.
    """
    rows, tile_after = _rows(width, gather, weighted), _tile_after(by_ids)

    @cuda.jit
    def kernel(at, starts, order, value, scale, tile, unit, height, columns, bits, count, n, out):
        q, lane = 1 + (cuda.grid(1) >> bits), cuda.grid(1) & ((1 << bits) - 1)
        while q * tile < n:
            start, stop = tile_after(at, starts, q * tile, tile, count, height)
            first, j = start // unit, lane * width
            last = first + (stop - start + unit - 1) // unit
            while j < columns and start < stop:
                vector.store(out, q * columns + j, rows(value, order, scale, first, last, j, columns))
                j += width << bits
            q += cuda.gridsize(1) >> bits

    return kernel


def sum_of(width, gather, weighted, levels):
    """The sum of a run's rows, by as many levels of tiles as ``tiles_kernel`` has summed.

    ``source`` is the value, the order, the scale, the sums of tiles and of groups of tiles, and the rows of a tile.
    """
    rows = _rows(width, gather, weighted)

    @device
    def add_in_order(total, sums, place, count, tile, j, columns):
        result, first = simd.like(total, 0), 1
        while first < count:
            stop = min(count, (first // tile + 1) * tile)
            # A branch in the loop would keep the loads apart.
            for k in range(place + first, place + stop):
                total = simd.add(total, vector.load(sums, k * columns + j, width))
            result, total, first = simd.add(result, total), simd.like(total, 0), stop
        return result

    @device
    def sum_run(source, start, stop, j, columns):
        value, order, scale, _, _, _ = source
        return rows(value, order, scale, start, stop, j, columns)

    @device
    def sum_tiles(source, start, stop, j, columns):
        value, order, scale, tiles, _, tile = source
        total = rows(value, order, scale, start, min(stop, start + tile), j, columns)
        if stop - start > tile:
            total = add_in_order(total, tiles, start // tile, (stop - start + tile - 1) // tile, tile, j, columns)
        return total

    @device
    def sum_tiles_twice(source, start, stop, j, columns):
        groups, tile = source[4], source[5]
        group = tile * tile
        total = sum_tiles(source, start, min(stop, start + group), j, columns)
        if stop - start > group:
            total = add_in_order(total, groups, start // group, (stop - start + group - 1) // group, tile, j, columns)
        return total

    return (sum_run, sum_tiles, sum_tiles_twice)[levels]


@functools.cache
def put_sums_kernel(width, levels):
    """Kernel that puts the sum of each run of sorted ids at its row, ``out[id]``."""
    run, run_sum = run_of(True), sum_of(width, True, False, levels)

    @cuda.jit
    def kernel(ids, order, value, tiles, groups, tile, height, columns, bits, n, out):
        i, lane = cuda.grid(1) >> bits, cuda.grid(1) & ((1 << bits) - 1)
        source = value, order, order, tiles, groups, tile
        while i < n:
            row, start, stop = run(ids, ids, i, n, height)
            j = lane * width
            while j < columns and start < stop:
                vector.store(out, row * columns + j, run_sum(source, start, stop, j, columns))
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


@functools.cache
def sums_kernel(width, levels):
    """Kernel of the sums of the runs in a table of ``n`` ids, of their number, ``rows[n]``, which it notes, too."""
    run_sum = sum_of(width, True, False, levels)

    @cuda.jit
    def kernel(rows, offsets, order, value, tiles, groups, tile, columns, bits, n, noted, out):
        u, lane = cuda.grid(1) >> bits, cuda.grid(1) & ((1 << bits) - 1)
        source = value, order, order, tiles, groups, tile
        if cuda.grid(1) == 0:
            noted[0] = rows[n]
        while u < vector.number(rows, n):
            start, stop = vector.number(offsets, u), vector.number(offsets, u + 1)
            j = lane * width
            while j < columns:
                vector.store(out, u * columns + j, run_sum(source, start, stop, j, columns))
                j += width << bits
            u += cuda.gridsize(1) >> bits

    return kernel


def sums_of_tiles(at, starts, order, value, scale, height):
    """Levels of tiles, and the sums of tiles and of groups of tiles, of runs of sorted ids or of a table.

    Of few rows there are no levels, and the sums are any array.
    """
    tile, n = settings.run_rows, len(at) if starts is None else starts.rows
    levels = 0 if n <= tile else 1 if n <= tile**3 // 2 else 2
    tiles = _tiles(at, starts, order, value, scale, height, tile, 1) if levels else value
    groups = _tiles(at, starts, None, tiles, None, height, tile * tile, tile) if levels > 1 else value
    return levels, tiles, groups


def _tiles(at, starts, order, value, scale, height, tile, unit):
    by_ids, columns = starts is None, value.columns
    n, count, starts = (len(at), len(at), at) if by_ids else (starts.rows, len(starts), starts.offsets)
    out = value.like((-(-n // tile), *value.shape[1:]), value.compute_dtype)
    width = width_of(columns, value, out)
    kernel, bits = tiles_kernel(width, by_ids, order is not None, scale is not None), group_of(columns, width)
    order, scale = starts if order is None else order, starts if scale is None else scale
    numbers = tile, unit, height, columns, bits, count, n
    launch(kernel, (len(out) - 1) << bits, at, starts, order, value, scale, *numbers, out)
    return out


def sums_of_runs(rows, offsets, order, ids, value, height, noted, out):
    """Put the sums of the rows of ``value``, in ``order``, of every run in a table of sorted ids into ``out``.

    ``noted[0]`` gets the number of runs.
    """
    levels, tiles, groups = sums_of_tiles(ids, None, order, value, None, height)
    n, columns, width = len(ids), value.columns, width_of(value.columns, value, out)
    kernel, bits, arrays = sums_kernel(width, levels), group_of(columns, width), (value, tiles, groups)
    launch(kernel, n << bits, rows, offsets, order, *arrays, settings.run_rows, columns, bits, n, noted, out)


def put_sums(ids, order, value, out):
    """Put the sum of the rows of ``value``, in ``order``, of each run of sorted ids at its row of ``out``."""
    n, height, columns, width = len(ids), len(out), value.columns, width_of(value.columns, value, out)
    levels, *tiles = sums_of_tiles(ids, None, order, value, None, height)
    kernel, bits = put_sums_kernel(width, levels), group_of(columns, width)
    launch(kernel, n << bits, ids, order, value, *tiles, settings.run_rows, height, columns, bits, n, out)
