"""Kernels of lodkit/ops/products.py, by the array API that libraries share."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import cast
from ...lod import SelectedRows
from ...ops import products as ops
from ...registry import Dense
from .array_api import namespace, round_to, upcast_half


def _product(x, y, dtype):
    with np.errstate(all="ignore"):
        return round_to(upcast_half(x) * upcast_half(y), dtype)


@ops.elementwise_mul.kernel("cpu")
@ops.elementwise_mul.kernel("cuda")
def multiply(x: Dense, y, /, *, axis):
    dtype, shape = ops.check_factor(x, y, axis), tuple(y.shape)
    if axis != -1 and shape != tuple(x.shape):
        y = namespace(y).reshape(y, ops.aligned_shape(x.shape, shape, axis))
    return _product(x, y, dtype)


@ops.elementwise_mul.kernel("cpu")
@ops.elementwise_mul.kernel("cuda")
def multiply_selected(x: SelectedRows, y, /, *, axis):
    dtype, xp = ops.check_factor(x, y, axis), namespace(y)
    one = math.prod(y.shape) == 1
    y = xp.reshape(y, (1,) * len(x.value.shape)) if one else xp.take(y, x._rows, axis=0)
    return x._with_value(_product(x.value, y, dtype))


@ops.sum_repeated.kernel("cpu")
@ops.sum_repeated.kernel("cuda")
def sum_repeated(x: Dense, like, /, *, axis):
    dtype, axes = ops.check_repeated(x, like, axis)
    xp = namespace(x)
    # A view that repeats its memory without end is no array to read: a copy of it is refused.
    x = np.ascontiguousarray(x) if isinstance(x, np.ndarray) and axes else x
    total = xp.sum(xp.asarray(cast(x, np.float64)), axis=axes) if axes else x
    return xp.reshape(round_to(total, dtype), tuple(like.shape))
