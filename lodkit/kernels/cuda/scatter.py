"""CUDA kernels of lodkit/ops/scatter.py. Which of several rows for one place is the last is found by their numbers."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert, copied, fill
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, refuse_overlap, view
from ...errors import bad_along
from ...ops.scatter import check_elements, check_target, check_updates, scatter, scatter_assign, scatter_grad
from ...registry import Dense
from .primitives.gather import gather, put_rows


@cuda.jit
def _find_last(rows, n, height, last):
    """Put the number of the last of equal rows into ``last``, counted from the end; -1 for none."""
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


@scatter_assign.kernel("cuda")
def assign(data: Dense, ids: Dense, slices: Dense, /):
    target, slices, ids = view(data), view(slices), view(ids)
    check_target("scatter_assign", target, ids.shape, [("slices", slices)])
    ids = checked_ids(ids, len(target))
    refuse_overlap("data", target, (ids, slices))
    if slices.size:
        put_rows(_last_of(ids, len(target)), slices.reshape(ids.size, *target.shape[1:]), target)
    return data


@cuda.jit
def _element_places(ids, height, sizes, axis, dims, n, places):
    """Where each element of the ids points, in C order; ``sizes``: of the ids' axes, then the strides of the data's."""
    i = cuda.grid(1)
    while i < n:
        row, rest = vector.number(ids, i), i
        place = row * vector.number(sizes, dims + axis)
        for back in range(dims):
            d = dims - 1 - back
            if d != axis:
                place += rest % vector.number(sizes, d) * vector.number(sizes, dims + d)
            rest //= vector.number(sizes, d)
        places[i] = place if 0 <= row < height else -1
        i += cuda.gridsize(1)


def _places(ids, shape, axis):
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    sizes, places = ids.send(np.array([*ids.shape, *strides], np.int64)), ids.like((ids.size,), np.int64)
    launch(_element_places, ids.size, ids, shape[axis], sizes, axis, len(shape), ids.size, places)
    return _last_of(places, math.prod(shape))


@scatter.kernel("cuda")
def run(data: Dense, ids: Dense, updates: Dense, /, *, axis, out=None):
    data, ids, updates = view(data), view(ids), view(updates)
    check_values(data.dtype, "scatter")
    axis = check_elements("scatter", data.shape, ids.shape, axis)
    check_updates(data, ids.shape, updates)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    out = copied(data, output(data, data.shape, data.dtype, out))
    if ids.size:
        put_rows(_places(ids, data.shape, axis), updates.reshape(ids.size), out.reshape(out.size))
    return out.array


@scatter_grad.kernel("cuda")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis):
    data, ids, grad = view(data), view(ids), view(grad)
    check_values(data.dtype, "the gradient", floating=True)
    axis = check_elements("scatter_grad", data.shape, ids.shape, axis)
    ids = checked_ids(ids, data.shape[axis], error=bad_along(data.shape[axis], axis))
    by_data = convert(check_gradient(grad, data.shape), data.dtype, new=True)
    by_updates = fill(data.like(ids.shape), 0)
    if ids.size:
        places = _places(ids, data.shape, axis)
        gather(by_data.reshape(data.size), places, None, by_updates.reshape(ids.size))
        put_rows(places, fill(data.like((ids.size,)), 0), by_data.reshape(data.size))
    return by_data.array, by_updates.array
