"""Gradients of segment reductions, for sequence_pool, segment_reduce and embedding_bag alike."""

from __future__ import annotations

from ....arrays import check_values
from ....arrays.cuda import convert, launch, view
from ....jit import simd
from ....jit.reducers import REDUCERS
from ....ops.shared.reductions import check_grad_output
from . import row_kernels as kernels
from .gather import gather
from .indices import argreduce_rows
from .offsets import offsets_like
from .reduce import group_of, reduce_rows, weight_totals, width_of
from .reduce_kernels import WARP

ENDS = {"first": 0, "last": 1}


def upcast_like(values, other):
    """``other``, converted unless its compute dtype is that of ``values``."""
    return other if other.compute_dtype == values.compute_dtype else convert(other, values.dtype)


def launch_rows(kernel, width, offsets, out, *abc, ids=None, padding_idx=None, height=0):
    """Launch a kernel of ``row_kernels`` over all rows of the segments; unused arrays may be None."""
    columns, rows, some = out.columns, offsets.rows, offsets.offsets
    arrays = (some if x is None else x for x in (*abc, None, None, None)[:3])
    bits, padding = group_of(columns, width), -1 if padding_idx is None else padding_idx
    threads, ids = -(-rows // kernels.RUN) << bits if columns else 0, some if ids is None else ids
    launch(kernel, threads, *arrays, ids, some, padding, height, columns, bits, len(offsets), rows, out)


def values_grad(values, ids, padding_idx, offsets, weights, out, grad, reduce):
    """The gradient by the reduced rows, ``values[ids]``, or all values where ids is None: a View, a row for each."""
    dtype = check_values(values.dtype, "the gradient", floating=True, bfloat16=True)
    grad, offsets = upcast_like(values, view(grad)), offsets_like(values, offsets)
    check_grad_output(values, offsets.offsets, out, grad)
    shape, columns = (offsets.rows, *values.shape[1:]), values.columns
    result = values.like(shape)
    if reduce in ("logsumexp", "logmeanexp", "prod"):
        if ids is not None:
            found = values.like(shape)
            gather(values, ids, padding_idx, found)
            values = found
        (_prod_grad if reduce == "prod" else _shares)(values, offsets, grad, result)
    elif reduce in ENDS:
        launch_rows(kernels.place_kernel(ENDS[reduce]), 1, offsets, result, grad)
    elif reduce in ("max", "min"):
        where = argreduce_rows(reduce, values, ids, padding_idx, offsets, grad.shape)
        launch_rows(kernels.place_kernel(2), 1, offsets, result, grad, where)
    elif reduce not in ("sum", "mean", "sqrt"):
        raise KeyError(reduce)
    else:
        totals = weight_totals(reduce, weights, offsets, dtype)
        divisor = None if REDUCERS[reduce].divisor is None else "rows" if totals is None else "totals"
        width = width_of(columns, grad, result)
        kernel = kernels.spread_kernel(width, weights is not None, divisor, reduce == "sqrt")
        launch_rows(kernel, width, offsets, result, grad, weights, totals)
    return result


def exponentials_of(values, offsets):
    """Exponentials of the values less the maximum of their segment; the maxima; the sums of the exponentials."""
    dtype, shape = values.compute_dtype, (len(offsets), *values.shape[1:])
    tops, totals, exponentials = values.like(shape, dtype), values.like(shape, dtype), values.like(values.shape, dtype)
    reduce_rows("max", values, None, None, None, offsets, 0, tops)
    launch_rows(kernels.map_kernel(kernels.exponential), 1, offsets, exponentials, values, tops)
    reduce_rows("sum", exponentials, None, None, None, offsets, 0, totals)
    return exponentials, tops, totals


def _shares(values, offsets, grad, result):
    """The gradient of logsumexp, from the values: its result is rounded, an error in the exponent of large ones."""
    exponentials, _, totals = exponentials_of(values, offsets)
    launch_rows(kernels.shares_kernel, 1, offsets, result, grad, exponentials, totals)


def _prod_grad(values, offsets, grad, result):
    """The gradient of prod: the output gradient times the product of the other rows. Nothing is divided by a zero."""
    columns, before = values.columns, values.like(values.shape, values.compute_dtype)
    kernels.product_of_others(len(offsets) * columns, values, grad, offsets.offsets, columns, before, result)


def weights_grad(values, ids, padding_idx, offsets, weights, out, grad, reduce):
    """The gradient by the weights, a View: each row's share in the result, times the output gradient."""
    grad, out = upcast_like(values, view(grad)), None if out is None else upcast_like(values, out)
    offsets = offsets_like(values, offsets)
    check_grad_output(values, offsets.offsets, out, grad)
    mean = reduce == "mean"
    totals = weight_totals(reduce, weights, offsets, values.dtype)
    result = weights.like(weights.shape)
    some, height = offsets.offsets, len(values)
    source = values if height else values.like((1, *values.shape[1:]))
    kernel = kernels.products_kernel(ids is not None, mean)
    a, b, c = (some if x is None else x for x in (ids, out if mean else None, totals))
    padding, columns = -1 if padding_idx is None else padding_idx, values.columns
    size = len(offsets), offsets.rows
    launch(kernel, offsets.rows * WARP, source, a, b, grad, c, some, padding, height, columns, *size, result)
    return result


def sums_of_products(a, b, offsets, step=simd.mul):
    """Sum of ``a * b``, or of another step, over every segment, in the type that they compute in: a View."""
    offsets, width = offsets_like(a, offsets), width_of(a.columns, a, b)
    products, sums = a.like(a.shape, a.compute_dtype), a.like((len(offsets), *a.shape[1:]), a.compute_dtype)
    if a.size:
        launch_rows(kernels.zip_kernel(step, width), width, offsets, products, a, b)
    reduce_rows("sum", products, None, None, None, offsets, 0, sums)
    return sums
