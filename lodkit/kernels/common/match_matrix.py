"""Kernels of lodkit/ops/match_matrix.py: products of matrices by the array library, pairs of rows by the device."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import check_gradient
from ...lod import LoDTensor
from ...ops.match_matrix import prepare_match


def _prepare_pairs(on, x, y, weight):
    """Rows in the type that is computed in, the rows of x times the weight, and what the pairs need to know."""
    dtype, ends = prepare_match(x, y, weight)
    kind = np.dtype(np.float32) if dtype == np.float16 else dtype
    left, right, factors = (on.to_contiguous(on.convert(a, kind)) for a in (x.values, y.values, weight))
    factors = factors.reshape(weight.shape[0], weight.shape[1] * weight.shape[2])
    pairs = x._row_offsets(), y._row_offsets(), ends, weight.shape[1]
    return dtype, left, right, factors, on.matmul(left, factors), pairs


@ops.match_matrix.kernel("cpu", "cuda")
def match_matrix(on, x, y, weight, /):
    dtype, _, right, _, products, pairs = _prepare_pairs(on, x, y, weight)
    ends = pairs[2]
    out = on.output((int(ends[-1]), 1), right.dtype, None, right)
    if out.size:
        on.match_matrix.match(products, right, *pairs, out)
    with np.errstate(over="ignore"):
        return LoDTensor._wrap(on.convert(out, dtype), (*x._lod[:-1], ends))


@ops.match_matrix_grad.kernel("cpu", "cuda")
def match_matrix_grad(on, x, y, weight, grad, /):
    dtype, left, right, factors, products, pairs = _prepare_pairs(on, x, y, weight)
    check_gradient(grad, (int(pairs[2][-1]), 1))
    grad = on.to_contiguous(on.convert(grad, right.dtype))
    by_products = on.zeros(products.shape, right.dtype, right)
    by_y = on.zeros(right.shape, right.dtype, right)
    if grad.size:
        on.match_matrix.match_back(products, right, grad, *pairs, by_products, by_y)
    by_x = on.matmul(by_products, factors, transpose="right")
    by_weight = on.matmul(left, by_products, transpose="left").reshape(*weight.shape)
    with np.errstate(over="ignore"):
        return tuple(on.convert(result, dtype) for result in (by_x, by_y, by_weight))
