"""CUDA kernels of lodkit/ops/weighted_sums.py: into rows, by their sorted ids, each row read and written once."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert, copied, fill
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, device, launch
from ...arrays.cuda.memory import output, refuse_overlap, view
from ...jit import simd
from ...lod.selected_rows import SelectedRows
from ...ops.scatter import check_target
from ...ops.weighted_sums import (
    check_alike,
    check_weights,
    pairs_of,
    scatter_weighted_sum,
    weighted_sum,
    weighted_sum_weights_grad,
)
from ...registry import Dense
from .primitives.gather import gather, put_rows
from .primitives.merge import runs_of
from .primitives.offsets import offsets_like
from .primitives.reduce import reduce_rows


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
    return convert(weight.reshape(1), like.compute_dtype)


@scatter_weighted_sum.kernel("cuda")
def add_weighted(data: Dense, weight: Dense, ids: Dense, /, *rest: Dense):
    target, weight, ids, rest = view(data), view(weight), view(ids), tuple(map(view, rest))
    xs, weights = pairs_of("scatter_weighted_sum", rest)
    check_target("scatter_weighted_sum", target, ids.shape, [(f"x{i}", x) for i, x in enumerate(xs, 1)])
    check_weights("scatter_weighted_sum", (weight, *weights), target.dtype)
    ids = checked_ids(ids, len(target))
    refuse_overlap("data", target, (weight, ids, *rest))
    if not target.size or not ids.size:
        return data
    flat = ids.reshape(ids.size)
    rows, offsets, order = runs_of(SelectedRows._wrap(flat, xs[0], len(target)))
    total = target.like((len(rows), *target.shape[1:]), target.compute_dtype)
    gather(target, rows, None, total)
    launch(_scale_runs, total.size, total, _number(weight, target), offsets.offsets, total.columns, total.size)
    for x, w in zip(xs, weights, strict=True):
        sums = total.like(total.shape)
        values = x.reshape(ids.size, *target.shape[1:])
        reduce_rows("sum", values, order, None, None, offsets, 0, sums)
        launch(_add_scaled, total.size, sums, _number(w, target), total.size, total)
    put_rows(rows, total, target)
    return data


@weighted_sum.kernel("cuda")
def run_sum(x: Dense, weight: Dense, /, *rest: Dense, out=None):
    xs, weights = pairs_of("weighted_sum", [view(one) for one in (x, weight, *rest)])
    dtype, first = check_alike(xs), xs[0]
    check_weights("weighted_sum", weights, dtype)
    total = fill(first.like(first.shape, first.compute_dtype), 0)
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
    products, total = x.like((x.size,), x.compute_dtype), x.like((1,), x.compute_dtype)
    launch(_multiply, x.size, x, grad, x.size, products)
    reduce_rows("sum", products, None, None, None, offsets_like(x, np.array([0, x.size])), 0, total)
    return convert(total, weight.dtype).reshape(*weight.shape).array
