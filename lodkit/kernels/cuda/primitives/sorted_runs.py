"""Runs of equal sorted ids, found where an update needs them: nobody waits to be told how many there are, or how long.

A run of more rows than a tile is summed by tiles, as everywhere: the first by whoever takes the run, the others before
it by a kernel of their own, for which any position says whether a tile starts there.
"""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, launch, vector
from ....jit import simd
from .offsets import settings
from .reduce import group_of, width_of
from .row_kernels import lower_bound


def run_of(by_ids):
    """Function of a number of a run, or of a position among sorted ids: the row, and where its run starts and stops."""

    @device
    def listed(at, starts, u, count, height):
        return vector.number(at, u), vector.number(starts, u), vector.number(starts, u + 1)

    @device
    def found(ids, starts, i, count, height):
        row, stop = vector.number(ids, i), i
        if row < height and (i == 0 or vector.number(ids, i - 1) != row):
            stop = end_of_run(ids, i, count)
        return row, i, stop

    return found if by_ids else listed


@device
def end_of_run(ids, start, n):
    """Where the run of sorted ids ends that starts here, by longer and longer steps: most have one id."""
    row, last, step = vector.number(ids, start), start, 1
    while last + step < n and vector.number(ids, last + step) == row:
        last += step
        step *= 2
    return lower_bound(ids, last + 1, min(last + step, n), row + 1)


@device
def tile_behind(ids, place, n, tile, height):
    """The tile of a run, but not its first, that starts at ``place`` or less than a tile behind it, if there is one.

    There is one at most: the run has the position before ``place``.
    """
    row, start, stop = vector.number(ids, place - 1), place, place
    if row < height and vector.number(ids, place) == row:
        run = lower_bound(ids, 0, place - 1, row)
        start = run + (place - run + tile - 1) // tile * tile
        stop = lower_bound(ids, start, min(start + tile, n), row + 1) if start < n else start
    return start, stop


def rows_of(width, gather, weighted):
    """The sum of some rows, in order, times ``scale`` where it is weighted."""

    @device
    def rows(value, order, scale, start, stop, j, columns):
        total = simd.full(value, width, 0)
        for i in range(start, stop):
            row = vector.number(order, i) if gather else i
            g = vector.load(value, row * columns + j, width)
            if weighted:
                g = simd.mul(g, simd.like(g, vector.number(scale, i)))
            total = simd.add(total, g)
        return total

    return rows


@functools.cache
def tiles_kernel(width, gather, weighted):
    """Kernel that sums the rows of runs of sorted ids with more than a tile: of each tile but the first.

    ``out[q]`` gets the tile that starts at ``q * tile``, or behind it and before the next multiple.
    """
    rows = rows_of(width, gather, weighted)

    @cuda.jit
    def kernel(ids, order, value, scale, tile, height, columns, bits, n, out):
        q, lane = 1 + (cuda.grid(1) >> bits), cuda.grid(1) & ((1 << bits) - 1)
        while q * tile < n:
            start, stop = tile_behind(ids, q * tile, n, tile, height)
            j = lane * width
            while j < columns and start < stop:
                vector.store(out, q * columns + j, rows(value, order, scale, start, stop, j, columns))
                j += width << bits
            q += cuda.gridsize(1) >> bits

    return kernel


def with_tiles_of(width):
    """Add the sums of a run's other tiles to that of the first, in order: tiles of tiles as merges have them."""

    @device
    def with_tiles(total, tiles, tile, start, stop, j, columns):
        few = many = simd.like(total, 0)
        for k in range(1, (stop - start + tile - 1) // tile):
            if k % tile == 0:
                few, total = simd.add(few, total), simd.like(total, 0)
                if k % (tile * tile) == 0:
                    many, few = simd.add(many, few), simd.like(total, 0)
            total = simd.add(total, vector.load(tiles, (start // tile + k) * columns + j, width))
        return simd.add(many, simd.add(few, total))

    return with_tiles


def sum_of(width, gather, weighted, tiled):
    """The sum of a run's rows: where ``tiled``, with what ``tiles_kernel`` gives."""
    rows, with_tiles = rows_of(width, gather, weighted), with_tiles_of(width)

    @device
    def run_sum(value, order, scale, tiles, tile, start, stop, j, columns):
        if tiled:
            total = rows(value, order, scale, start, min(stop, start + tile), j, columns)
            if stop - start > tile:
                total = with_tiles(total, tiles, tile, start, stop, j, columns)
        else:
            total = rows(value, order, scale, start, stop, j, columns)
        return total

    return run_sum


@functools.cache
def sums_kernel(width, tiled):
    """Kernel of the sums of the runs in a table of ``n`` ids, whose number the device alone knows: ``rows[n]``."""
    run_sum = sum_of(width, True, False, tiled)

    @cuda.jit
    def kernel(rows, offsets, order, value, tiles, tile, columns, bits, n, out):
        u, lane = cuda.grid(1) >> bits, cuda.grid(1) & ((1 << bits) - 1)
        while u < vector.number(rows, n):
            start, stop = vector.number(offsets, u), vector.number(offsets, u + 1)
            j = lane * width
            while j < columns:
                vector.store(out, u * columns + j, run_sum(value, order, order, tiles, tile, start, stop, j, columns))
                j += width << bits
            u += cuda.gridsize(1) >> bits

    return kernel


def sums_of_tiles(ids, order, value, scale, height):
    """Sums of the tiles of long runs of sorted ids, at the tile's number among all positions; None for few ids."""
    n, tile, columns = len(ids), settings.tile_rows, value.columns
    if n <= tile:
        return None
    out = value.like((-(-n // tile), *value.shape[1:]), value.compute_dtype)
    width = width_of(columns, value, out)
    kernel, bits = tiles_kernel(width, order is not None, scale is not None), group_of(columns, width)
    order, scale = ids if order is None else order, ids if scale is None else scale
    launch(kernel, (len(out) - 1) << bits, ids, order, value, scale, tile, height, columns, bits, n, out)
    return out


def sums_of_runs(rows, offsets, order, ids, value, height, out):
    """Sums of the rows of ``value``, in ``order``, of every run in a table of sorted ids: first rows of ``out``."""
    n, columns, tiles = len(ids), value.columns, sums_of_tiles(ids, order, value, None, height)
    width = width_of(columns, value, out)
    kernel, bits = sums_kernel(width, tiles is not None), group_of(columns, width)
    tiles = value if tiles is None else tiles
    launch(kernel, n << bits, rows, offsets, order, value, tiles, settings.tile_rows, columns, bits, n, out)
