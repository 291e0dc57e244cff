"""Weighted sums: into rows, by their sorted ids, each row read and written once, and of whole arrays."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, copy_elements, device, elementwise, fill, vector
from ...jit import simd
from .primitives.gather import gather, put_rows
from .primitives.merge import sort_rows
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


@elementwise
def _scale_runs(i, total, weight, starts, columns):
    """Scale the row of each run once per member of the run."""
    u = i // columns
    times = vector.number(starts, u + 1) - vector.number(starts, u)
    x = vector.load_written(total, i, 1)
    vector.store(total, i, simd.mul(x, simd.like(x, _power(vector.number(weight, 0), times))))


@elementwise
def _add_scaled(i, x, weight, total):
    one = vector.load(x, i, 1)
    scaled = simd.mul(one, simd.like(one, vector.number(weight, 0)))
    vector.store(total, i, simd.add(vector.load_written(total, i, 1), scaled))


def _number(weight, like):
    """A weight in the type that values compute in."""
    return convert(weight.reshape(1), like.compute_dtype)


def add_rows(data, weight, ids, xs, weights):
    """``data[ids] = weight * data[ids] + w1 * x1 ...``"""
    order, offsets, rows = sort_rows(ids, len(data))
    total = data.like((len(rows), *data.shape[1:]), data.compute_dtype)
    gather(data, rows, None, total)
    _scale_runs(total.size, total, _number(weight, data), offsets.offsets, total.columns)
    for x, w in zip(xs, weights, strict=True):
        sums = total.like(total.shape)
        values = x.reshape(ids.size, *data.shape[1:])
        reduce_rows("sum", values, order, None, None, offsets, 0, sums)
        _add_scaled(total.size, sums, _number(w, data), total)
    put_rows(rows, total, data)


def add_arrays(xs, weights, out):
    """``out = w0 * x0 + w1 * x1 ...``, computed in float32 where ``out`` is float16."""
    total = fill(out.like(out.shape, out.compute_dtype), 0)
    for x, w in zip(xs, weights, strict=True):
        _add_scaled(total.size, x, _number(w, out), total)
    copy_elements(total, out)


@elementwise
def _multiply(i, x, grad, products):
    vector.store(products, i, simd.mul(vector.load(x, i, 1), vector.load(grad, i, 1)))


def sum_products(x, grad, like):
    """The sum of ``x * grad``, as an array like another."""
    grad = convert(grad, x.dtype)
    products, total = _multiply.into(x.like((x.size,), x.compute_dtype), x, grad), x.like((1,), x.compute_dtype)
    reduce_rows("sum", products, None, None, None, offsets_like(x, np.array([0, x.size])), 0, total)
    return convert(total, like.dtype).reshape(*like.shape)
