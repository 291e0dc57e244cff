"""CUDA part of lodkit/ops/scatter.py: of several rows for one place, the last one is found by its number."""

from __future__ import annotations

import math

import numpy as np

from ...arrays.cuda import elementwise, fill, vector
from .primitives.cells import find_last
from .primitives.gather import gather, put_rows


def put_last(rows, values, out):
    """``out[rows[i]] = values[i]``, of several for one row the last."""
    if values.size:
        put_rows(find_last(None, rows, len(out))[0], values, out)


def take_last(x, places):
    """Elements of ``x`` at places, 0 for a place that is listed again later; zeros are left there."""
    kept, found = find_last(None, places, len(x))[0], x.like(places.shape)
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
    return _element_places.into(places, ids, shape[axis], sizes, axis, len(shape))
