"""CPU kernels of lodkit/ops/im2sequence.py."""

from __future__ import annotations

import math

import numpy as np

from ... import arrays
from ...arrays import check_gradient, check_values, matrix, native, upcast
from ...jit import parallel_kernel, prange
from ...lod.lod_tensor import LoDTensor
from ...ops.im2sequence import check_grid, im2sequence, im2sequence_grad, levels_of
from ...registry import Dense


@parallel_kernel
def _cut(x, across, kernels, strides, before, out):
    """Every window's elements: ``out[image, window, channel, i, j]``."""
    height, width = x.shape[2:]
    for row in prange(out.shape[0] * out.shape[1]):
        n, w = row // out.shape[1], row % out.shape[1]
        top, left = w // across * strides[0] - before[0], w % across * strides[1] - before[1]
        for c in range(x.shape[1]):
            for i in range(kernels[0]):
                inside = 0 <= top + i < height
                for j in range(kernels[1]):
                    there = inside and 0 <= left + j < width
                    out[n, w, c, i, j] = x[n, c, top + i, left + j] if there else 0


@parallel_kernel
def _put_back(grad, across, kernels, strides, before, out):
    """Add every window's elements to the image, a channel after the other."""
    images, channels, height, width = out.shape
    for plane in prange(images * channels):
        n, c = plane // channels, plane % channels
        for y in range(height):
            for x in range(width):
                out[n, c, y, x] = 0
        for w in range(grad.shape[1]):
            top, left = w // across * strides[0] - before[0], w % across * strides[1] - before[1]
            for i in range(max(0, -top), min(kernels[0], height - top)):
                for j in range(max(0, -left), min(kernels[1], width - left)):
                    out[n, c, top + i, left + j] += grad[n, w, c, i, j]


def _numbers(grid):
    return grid.across, grid.kernels, grid.strides, grid.before


@im2sequence.kernel("cpu")
def cut(x: Dense, /, *, kernels, strides, paddings, out=None):
    dtype, grid = check_values(x.dtype, "im2sequence"), check_grid(x.shape, kernels, strides, paddings)
    channels = x.shape[1]
    out = arrays.output((len(x) * grid.windows, channels * math.prod(grid.kernels)), dtype, out)
    if out.size:
        windows = matrix(out).reshape(len(x), grid.windows, channels, *grid.kernels)
        _cut(out.size, matrix(x).reshape(x.shape), *_numbers(grid), windows)
    return LoDTensor._wrap(out, levels_of(len(x), grid.windows))


@im2sequence_grad.kernel("cpu")
def put_back(x: Dense, grad: Dense, /, *, kernels, strides, paddings):
    dtype = check_values(x.dtype, "the gradient", floating=True)
    grid = check_grid(x.shape, kernels, strides, paddings)
    check_gradient(grad, (len(x) * grid.windows, x.shape[1] * math.prod(grid.kernels)))
    flow = upcast(grad.astype(dtype, copy=False))
    flow = np.ascontiguousarray(flow, native(flow.dtype)).reshape(len(x), grid.windows, x.shape[1], *grid.kernels)
    out = arrays.output(x.shape, flow.dtype)
    if out.size:
        _put_back(grad.size, flow, *_numbers(grid), out)
    with np.errstate(over="ignore"):
        return out.astype(dtype, copy=False)
