"""Softmax of segments on a GPU: one kernel, or where some are long reductions, as balanced as those are, and passes."""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, launch, vector
from ....jit import simd
from . import row_kernels as kernels
from .gradients import exponentials_of, launch_rows, sums_of_products, upcast_like
from .offsets import offsets_like, settings
from .reduce import group_of, width_of
from .reduce_kernels import WARP, combine_lanes, fold_of
from .scan import WARP_BITS


@device
def _log_share(x, top, total):
    """``x - top - log(total)``, of equal shares under an infinite top."""
    less = simd.log(total)
    result = simd.sub(simd.sub(x, top), less)
    number, most = simd.lane(x, 0), simd.lane(top, 0)
    if most - most != 0 and most == most:
        result = simd.sub(simd.like(x, 0), less)
        if number != most or most < 0:
            result = simd.log(simd.like(x, 0))
    return result


@kernels.row_kernel
def _log_softmax_kernel(i, s, j, values, tops, totals, ids, offsets, padding, height, columns, out):
    """a = values, b = the maxima of the segments, c = the sums of their exponentials."""
    x, at = vector.load(values, i * columns + j, 1), s * columns + j
    vector.store(out, i * columns + j, _log_share(x, vector.load(tops, at, 1), vector.load(totals, at, 1)))


@functools.cache
def softmax_kernel(logs, stride):
    """Kernel of whole segments: a thread takes a column, or a warp the rows of one column if ``stride`` is 32."""
    largest, combine = fold_of(simd.maximum, None, 1, stride, False), combine_lanes(simd.add, stride)

    @cuda.jit
    def kernel(values, offsets, columns, bits, segments, out):
        thread = cuda.grid(1)
        s, lane = thread >> bits, thread & ((1 << bits) - 1)
        while s < segments:
            start, stop = offsets[s], offsets[s + 1]
            begin, j = (start + lane, 0) if stride > 1 else (start, lane)
            while j < columns and start < stop:
                top = largest(values, offsets, values, start, begin, stop, j, columns, 0, 0, offsets)
                total = simd.full(values, 1, 0)
                for i in range(begin, stop, stride):
                    x = vector.load(values, i * columns + j, 1)
                    total = simd.add(total, kernels.exponential(x, top))
                total = combine(total)
                for i in range(begin, stop, stride):
                    x = vector.load(values, i * columns + j, 1)
                    share = _log_share(x, top, total) if logs else kernels.share_of(kernels.exponential(x, top), total)
                    vector.store(out, i * columns + j, share)
                j += 1 << bits
            s += cuda.gridsize(1) >> bits

    return kernel


@device
def _grad_of_finite(y, grad):
    return simd.zero_at_minus_inf(grad, y)


@functools.cache
def _gradient_kernel(width, logs):
    """``(grad[i] - total[s]) * y[i]``, for logs ``grad[i] - total[s] * exp(y[i])``: a = results, b = grad, c = totals.

    For logs, an entry of -inf gives and gets nothing.
    """

    def gradient(i, s, j, result, grad, totals, ids, offsets, padding, height, columns, out):
        y, g = vector.load(result, i * columns + j, width), vector.load(grad, i * columns + j, width)
        total = vector.load(totals, s * columns + j, width)
        if logs:
            x = simd.sub(simd.zero_at_minus_inf(g, y), simd.mul(simd.exp(y), total))
        else:
            x = simd.mul(simd.sub(g, total), y)
        vector.store(out, i * columns + j, x)

    return kernels.row_kernel(gradient, width)


def softmax_rows(values, offsets, logs, out):
    """Put the softmax of every column of every segment, or its logarithm, into ``out``.

    The last bits depend on whether the batch has a segment that is too long for one kernel.
    """
    if not values.size:
        return
    offsets, columns = offsets_like(values, offsets), values.columns
    if offsets.tiles is None or offsets.longest <= settings.warp_rows // (1 if columns == 1 else WARP):
        bits, segments = WARP_BITS if columns == 1 else group_of(columns, 1), len(offsets)
        kernel = softmax_kernel(logs, WARP if columns == 1 else 1)
        launch(kernel, segments << bits, values, offsets.offsets, columns, bits, segments, out)
        return
    exponentials, tops, totals = exponentials_of(values, offsets)
    if logs:
        launch_rows(_log_softmax_kernel, 1, offsets, out, values, tops, totals)
    else:
        launch_rows(kernels.map_kernel(kernels.share_of), 1, offsets, out, exponentials, totals)


def softmax_grad_rows(y, grad, offsets, logs, out):
    """Put the gradient of softmax, or of its logarithm, whose result is ``y``, into ``out``."""
    if not y.size:
        return
    grad, offsets, width = upcast_like(y, grad), offsets_like(y, offsets), width_of(y.columns, y, grad)
    totals = sums_of_products(y, grad, offsets, _grad_of_finite if logs else simd.mul)
    launch_rows(_gradient_kernel(width, logs), width, offsets, out, y, grad, totals)
