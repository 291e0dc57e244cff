"""CPU part of lodkit/ops/scatter.py."""

from __future__ import annotations

import math

import numpy as np

from .primitives.gather import put_all
from .primitives.gather import scatter_rows as put_last  # noqa: F401


def take_last(x, places):
    """Elements of ``x`` at places, 0 for a place that is listed again later; zeros are left there."""
    last, numbers = np.empty(len(x), np.int64), np.arange(len(places))
    put_all(places, numbers.reshape(-1, 1), last.reshape(-1, 1))
    found = np.where(last[places] == numbers, x[places], x.dtype.type(0))
    x[places] = 0
    return found


def places(ids, shape, axis):
    """Number of the element of the data that each of the ids selects, in C order."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    places = ids * strides[axis]
    for d, stride in enumerate(strides):
        if d != axis:
            places += (np.arange(ids.shape[d]) * stride).reshape(-1, *[1] * (len(shape) - d - 1))
    return places.reshape(-1)
