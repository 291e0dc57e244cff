"""CUDA kernels of lodkit/ops/im2sequence.py: a thread an element."""

from __future__ import annotations

import math

from ...arrays import check_gradient, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...jit import simd
from ...lod.lod_tensor import LoDTensor
from ...ops.im2sequence import check_grid, im2sequence, im2sequence_grad, levels_of
from ...registry import Dense


@cuda.jit
def _cut(x, height, width, across, windows, rows, columns, down, right, up, left, channels, n, out):
    """``out[image, window, channel, i, j]``, windows of rows x columns that are ``down`` and ``right`` apart."""
    at = cuda.grid(1)
    while at < n:
        rest, j = at // columns, at % columns
        rest, i = rest // rows, rest % rows
        rest, c = rest // channels, rest % channels
        image, w = rest // windows, rest % windows
        y, z = w // across * down - up + i, w % across * right - left + j
        there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
        vector.store(out, at, vector.load_where(there, x, ((image * channels + c) * height + y) * width + z, 1))
        at += cuda.gridsize(1)


@cuda.jit
def _put_back(grad, height, width, across, windows, rows, columns, down, right, up, left, channels, n, out):
    """Every element of the images gets from the windows that it is in, the first of them first."""
    at = cuda.grid(1)
    while at < n:
        y, z, plane = at // width % height + up, at % width + left, at // (width * height)
        image, c = plane // channels, plane % channels
        total = simd.full(grad, 1, 0)
        for v in range(max(0, (y - rows + down) // down), min(windows // across, y // down + 1)):
            for h in range(max(0, (z - columns + right) // right), min(across, z // right + 1)):
                window = (image * windows + v * across + h) * channels + c
                place = (window * rows + y - v * down) * columns + z - h * right
                total = simd.add(total, vector.load(grad, place, 1))
        vector.store(out, at, total)
        at += cuda.gridsize(1)


def _numbers(shape, grid):
    return *shape[2:], grid.across, grid.windows, *grid.kernels, *grid.strides, *grid.before, shape[1]


@im2sequence.kernel("cuda")
def cut(x: Dense, /, *, kernels, strides, paddings, out=None):
    x = view(x)
    dtype, grid = check_values(x.dtype, "im2sequence"), check_grid(x.shape, kernels, strides, paddings)
    out = output(x, (len(x) * grid.windows, x.shape[1] * math.prod(grid.kernels)), dtype, out)
    source = x if x.size else x.like((1,))  # windows of padding alone, which read nothing, still name an address
    launch(_cut, out.size, source, *_numbers(x.shape, grid), out.size, out)
    return LoDTensor._wrap(out.array, levels_of(len(x), grid.windows))


@im2sequence_grad.kernel("cuda")
def put_back(x: Dense, grad: Dense, /, *, kernels, strides, paddings):
    x, grad = view(x), view(grad)
    dtype = check_values(x.dtype, "the gradient", floating=True)
    grid = check_grid(x.shape, kernels, strides, paddings)
    check_gradient(grad, (len(x) * grid.windows, x.shape[1] * math.prod(grid.kernels)))
    out = x.like(x.shape)
    launch(_put_back, out.size, convert(grad, dtype), *_numbers(x.shape, grid), out.size, out)
    return out.array
