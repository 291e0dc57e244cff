"""CPU kernels of lodkit/ops/scatter.py."""

from __future__ import annotations

import math

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_rows, check_values, matrix
from ...arrays.generic import refuse_overlap
from ...arrays.ids import checked_ids
from ...errors import bad_along
from ...ops.scatter import check_elements, check_target, check_updates, scatter, scatter_assign, scatter_grad
from ...registry import Dense
from .primitives.gather import put_all


@scatter_assign.kernel("cpu")
def assign(data: Dense, ids: Dense, slices: Dense, /):
    ids = checked_ids(ids, len(check_rows(data, "data")))
    check_target("scatter_assign", data, ids.shape, [("slices", slices)])
    refuse_overlap("data", data, (ids, slices))
    put_all(ids.reshape(-1), matrix(slices.reshape(ids.size, *data.shape[1:])), matrix(data))
    return data


def _places(ids, shape, axis):
    """Where each element of the ids points, in C order."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    places = ids * strides[axis]
    for d, stride in enumerate(strides):
        if d != axis:
            places += (np.arange(ids.shape[d]) * stride).reshape(-1, *[1] * (len(shape) - d - 1))
    return places.reshape(-1)


@scatter.kernel("cpu")
def run(data: Dense, ids: Dense, updates: Dense, /, *, axis, out=None):
    dtype = check_values(data.dtype, "scatter")
    axis = check_elements("scatter", data.shape, np.shape(ids), axis)
    check_updates(data, np.shape(ids), updates)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    out = arrays.output(data.shape, dtype, out)
    out[...] = data
    put_all(_places(ids, data.shape, axis), matrix(updates.reshape(-1)), matrix(out.reshape(-1)))
    return out


@scatter_grad.kernel("cpu")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis):
    dtype = check_values(data.dtype, "the gradient", floating=True)
    axis = check_elements("scatter_grad", data.shape, np.shape(ids), axis)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    by_data = np.array(check_gradient(grad, data.shape), dtype, order="C")
    places, numbers = _places(ids, data.shape, axis), np.arange(ids.size)
    last, flat = np.empty(data.size, np.int64), by_data.reshape(-1)
    put_all(places, matrix(numbers), matrix(last))
    by_updates = np.where(last[places] == numbers, flat[places], dtype.type(0))
    flat[places] = 0
    return by_data, by_updates.reshape(ids.shape)
