"""CUDA part of lodkit/ops/scatter.py: of several rows for one place, the last one is found by its number."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import cuda, elementwise, fill, launch, vector
from .primitives.gather import gather, put_rows


@cuda.jit
def _find_last(rows, n, height, last):
    """Put the position of the last of equal rows into ``last``, counted from the end; -1 for none."""
    i = cuda.grid(1)
    while i < n:
        row = vector.number(rows, i)
        if 0 <= row < height:
            vector.atomic_first(last, row, n - 1 - i)
        i += cuda.gridsize(1)


@cuda.jit
def _keep_last(rows, last, n, height, kept):
    """Rows, but -1 for those that are listed again later, or outside."""
    i = cuda.grid(1)
    while i < n:
        row, kept[i] = vector.number(rows, i), -1
        if 0 <= row < height and vector.number(last, row) == n - 1 - i:
            kept[i] = row
        i += cuda.gridsize(1)


def _last_of(rows, height):
    """Rows, but -1 for those that are listed again later, or outside ``[0, height)``."""
    last, kept = fill(rows.like((height,), np.int64), -1), rows.like((rows.size,), np.int64)
    launch(_find_last, rows.size, rows, rows.size, height, last)
    launch(_keep_last, rows.size, rows, last, rows.size, height, kept)
    return kept


def put_last(rows, values, out):
    """``out[rows[i]] = values[i]``, of several for one row the last."""
    if values.size:
        put_rows(_last_of(rows, len(out)), values, out)


def take_last(x, places):
    """Elements of ``x`` at places, 0 for a place that is listed again later; zeros are left there."""
    kept, found = _last_of(places, len(x)), x.like(places.shape)
    gather(x, kept, None, found)
    put_rows(kept, fill(x.like(places.shape), 0), x)
    return found


@elementwise
def _element_places(i, ids, height, sizes, axis, dims, places):
    """Number of the element that each of the ids selects; ``sizes``: axes of the ids, then strides of the data."""
    row, rest = vector.number(ids, i), i
    place = row * vector.number(sizes, dims + axis)
    for back in range(dims):
        d = dims - 1 - back
        if d != axis:
            place += rest % vector.number(sizes, d) * vector.number(sizes, dims + d)
        rest //= vector.number(sizes, d)
    places[i] = place if 0 <= row < height else -1


def places(ids, shape, axis):
    """Number of the element of the data that each of the ids selects, in C order; -1 for an id outside."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    sizes, places = ids.send(np.array([*ids.shape, *strides], np.int64)), ids.like((ids.size,), np.int64)
    _element_places(ids.size, ids, shape[axis], sizes, axis, len(shape), places)
    return places
