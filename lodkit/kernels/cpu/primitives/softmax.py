"""Softmax of segments: the choice of a template, and tiles of long segments."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import matrix
from ....jit import settings
from ....lod.offsets import segment_numbers, tiles_of
from .reduce import TILE, reduce_into, width_of
from .softmax_kernels import FLAT, gradient_kernel, products_kernel, rescale_kernel, softmax_kernel

NOTHING = np.empty((0, 0))
# With more lanes the temporaries of exp leave the registers.
WIDEST = 64


@functools.lru_cache(1024)
def strip_width(columns):
    """The lanes of a strip of columns, in kernels that compute more than a sum."""
    return min(WIDEST, width_of(columns))


def _strip_of(columns):
    return FLAT if columns == 1 else strip_width(columns)


def _as_strips(array, width):
    """A matrix as templates take it: one column as a row."""
    return array.reshape(1, -1) if width == FLAT else array


def tiles_where_long(rows, offsets):
    """Tiles of segments, and the offsets of segments over them; None where no segment is longer than a tile."""
    if rows <= TILE * settings.chunk_rows:
        return None
    tiles, tile_offsets = tiles_of(offsets, TILE * settings.chunk_rows)
    return (tiles, tile_offsets) if len(tiles) else None


def softmax_rows(values, offsets, logs, out):
    """Put the softmax of every column of every segment, or its logarithm, into ``out``."""
    if not values.size:
        return
    values, out = matrix(values), matrix(out)
    rows, columns = values.shape
    width, sizes = _strip_of(columns), (settings.chunk_rows, settings.block_rows)
    kernel, x = softmax_kernel(width), _as_strips(values, width)
    long = tiles_where_long(rows, offsets)
    if long is None:
        kernel(values.size * 8, x, offsets, logs, *sizes, NOTHING, NOTHING, _as_strips(out, width))
        return
    tiles, tile_offsets = long
    tops, totals = np.empty((2, len(tiles) - 1, columns))
    # Halves are rounded once, at the end.
    result = np.empty(out.shape, np.float32) if out.dtype == np.uint16 else out
    kernel(values.size * 8, x, tiles, logs, *sizes, tops, totals, _as_strips(result, width))
    rescale_kernel(logs)(values.size, tiles, _factors(tops, totals, tile_offsets, logs), result)
    if result is not out:
        out.view(np.float16)[...] = result


def _factors(tops, totals, tile_offsets, logs):
    """The share of each tile in its segment, or its logarithm."""
    best = _reduce_tiles("max", tops, tile_offsets)
    with np.errstate(all="ignore"):
        shift = np.where(tops == best, 0.0, tops - best)
        parts = np.exp(shift) * totals
        whole = _reduce_tiles("sum", parts, tile_offsets)
        if logs:
            return np.where(whole == 0, -np.inf, shift + np.log(totals / whole))
        return np.where(whole == 0, 0.0, parts / whole)


def _reduce_tiles(reduce, partial, tile_offsets):
    """The reduction over all tiles of a segment, for each of them."""
    return reduce_into(partial, None, None, None, tile_offsets, reduce, 0.0)[segment_numbers(tile_offsets)]


def sums_of_products(a, b, offsets, logs=False):
    """Sum ``a * b`` over every segment, in double precision; with logs, ``b`` where ``a`` is not -inf."""
    a, b = matrix(a), matrix(b)
    rows, columns = a.shape
    totals = np.zeros((len(offsets) - 1, columns))
    if a.size:
        width = _strip_of(columns)
        long = tiles_where_long(rows, offsets)
        tiles, tile_offsets = long or (offsets, None)
        partial = totals if long is None else np.empty((len(tiles) - 1, columns))
        x, y = _as_strips(a, width), _as_strips(b, width)
        kernel = products_kernel(width, logs)
        kernel(a.size, x, y, tiles, settings.chunk_rows, settings.block_rows, partial)
        if long is not None:
            totals = reduce_into(partial, None, None, None, tile_offsets, "sum", 0.0)
    return totals


def softmax_grad_rows(y, grad, offsets, logs, out):
    """Put the gradient of softmax, or of its logarithm, whose result is ``y``, into ``out``."""
    if not y.size:
        return
    y, grad, out = matrix(y), matrix(grad.astype(out.dtype, copy=False)), matrix(out)
    rows, columns = y.shape
    width = _strip_of(columns)
    long = tiles_where_long(rows, offsets)
    totals = NOTHING
    if long is not None:
        offsets, tile_offsets = long
        totals = _reduce_tiles("sum", sums_of_products(y, grad, offsets, logs), tile_offsets)
    kernel = gradient_kernel(width, logs)
    x, g, out = (_as_strips(a, width) for a in (y, grad, out))
    kernel(y.size * 4, x, g, offsets, settings.chunk_rows, settings.block_rows, totals, out)
