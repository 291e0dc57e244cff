"""CUDA kernels of lodkit/ops/scatter.py. Which of several rows for one place is the last is found by their numbers."""

from __future__ import annotations

import math

import numpy as np

from .. import simd
from ..arrays import check_gradient, check_rows, check_values
from ..ops.scatter import (
    check_alike,
    check_elements,
    check_target,
    check_updates,
    check_weights,
    pairs_of,
    scatter,
    scatter_assign,
    scatter_grad,
    scatter_weighted_sum,
    weighted_sum,
    weighted_sum_weights_grad,
)
from ..registry import Dense
from ..selected_rows import SelectedRows
from . import vector
from ._elements import convert, copied, fill
from ._offsets import offsets_like
from ._reduce import reduce_rows
from ._rows import copy_rows, put_rows
from .ids import checked_ids
from .launch import cuda, device, launch
from .memory import output, refuse_overlap, view
from .selected_rows import runs_of


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


@device
def _power(x, n):
    """x to the power of n, which is 1 or more."""
    result, n = x, n - 1
    while n > 0:
        if n & 1:
            result *= x
        x, n = x * x, n >> 1
    return result


@cuda.jit
def _scale_runs(total, weight, starts, columns, n):
    """Scale the row of every run as often as the run is long."""
    i = cuda.grid(1)
    while i < n:
        u = i // columns
        times = vector.number(starts, u + 1) - vector.number(starts, u)
        x = vector.load_written(total, i, 1)
        vector.store(total, i, simd.mul(x, simd.like(x, _power(vector.number(weight, 0), times))))
        i += cuda.gridsize(1)


@cuda.jit
def _add_scaled(x, weight, n, total):
    i = cuda.grid(1)
    while i < n:
        one = vector.load(x, i, 1)
        scaled = simd.mul(one, simd.like(one, vector.number(weight, 0)))
        vector.store(total, i, simd.add(vector.load_written(total, i, 1), scaled))
        i += cuda.gridsize(1)


def _number(weight, like):
    """A weight in the type that values compute in."""
    return convert(weight.reshape(1), like.wide)


@scatter_weighted_sum.kernel("cuda")
def add_weighted(data: Dense, weight: Dense, ids: Dense, /, *rest: Dense):
    target, weight, ids, rest = view(data), view(weight), view(ids), [view(x) for x in rest]
    xs, weights = pairs_of("scatter_weighted_sum", rest)
    check_target("scatter_weighted_sum", target, ids.shape, [(f"x{i}", x) for i, x in enumerate(xs, 1)])
    check_weights("scatter_weighted_sum", (weight, *weights), target.dtype)
    ids = checked_ids(ids, len(target))
    refuse_overlap("data", target, (weight, ids, *rest))
    if not target.size or not ids.size:
        return data
    flat = ids.reshape(ids.size)
    rows, offsets, order = runs_of(SelectedRows._wrap(flat, xs[0], len(target)))
    total = target.like((len(rows), *target.shape[1:]), target.wide)
    copy_rows(target, rows, None, total)
    launch(_scale_runs, total.size, total, _number(weight, target), offsets.offsets, total.columns, total.size)
    for x, w in zip(xs, weights, strict=True):
        sums = total.like(total.shape)
        values = x.reshape(ids.size, *target.shape[1:])
        reduce_rows("sum", values, order, None, None, offsets, 0, sums)
        launch(_add_scaled, total.size, sums, _number(w, target), total.size, total)
    put_rows(rows, total, target)
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
    ids = checked_ids(ids, data.shape[axis])
    out = copied(data, output(data, data.shape, data.dtype, out))
    if ids.size:
        put_rows(_places(ids, data.shape, axis), updates.reshape(ids.size), out.reshape(out.size))
    return out.array


@scatter_grad.kernel("cuda")
def run_grad(data: Dense, ids: Dense, grad: Dense, /, *, axis):
    data, ids, grad = view(data), view(ids), view(grad)
    check_values(data.dtype, "the gradient", floating=True)
    axis = check_elements("scatter_grad", data.shape, ids.shape, axis)
    ids = checked_ids(ids, data.shape[axis])
    by_data = convert(check_gradient(grad, data.shape), data.dtype, new=True)
    by_updates = fill(data.like(ids.shape), 0)
    if ids.size:
        places = _places(ids, data.shape, axis)
        copy_rows(by_data.reshape(data.size), places, None, by_updates.reshape(ids.size))
        put_rows(places, fill(data.like((ids.size,)), 0), by_data.reshape(data.size))
    return by_data.array, by_updates.array


@weighted_sum.kernel("cuda")
def run_sum(x: Dense, weight: Dense, /, *rest: Dense, out=None):
    xs, weights = pairs_of("weighted_sum", [view(one) for one in (x, weight, *rest)])
    dtype, first = check_alike(xs), xs[0]
    check_weights("weighted_sum", weights, dtype)
    total = fill(first.like(first.shape, first.wide), 0)
    for one, w in zip(xs, weights, strict=True):
        launch(_add_scaled, total.size, one, _number(w, first), total.size, total)
    return copied(total, output(first, first.shape, dtype, out)).array


@cuda.jit
def _multiply(x, grad, n, products):
    i = cuda.grid(1)
    while i < n:
        vector.store(products, i, simd.mul(vector.load(x, i, 1), vector.load(grad, i, 1)))
        i += cuda.gridsize(1)


@weighted_sum_weights_grad.kernel("cuda")
def run_weights_grad(x: Dense, weight: Dense, grad: Dense, /):
    x, weight, grad = view(x), view(weight), view(grad)
    check_values(x.dtype, "the gradient", floating=True)
    check_values(weight.dtype, "the gradient by a weight", floating=True)
    check_weights("weighted_sum_weights_grad", (weight,), x.dtype)
    grad = convert(check_gradient(grad, x.shape), x.dtype)
    products, total = x.like((x.size,), x.wide), x.like((1,), x.wide)
    launch(_multiply, x.size, x, grad, x.size, products)
    reduce_rows("sum", products, None, None, None, offsets_like(x, np.array([0, x.size])), 0, total)
    return convert(total, weight.dtype).reshape(*weight.shape).array
