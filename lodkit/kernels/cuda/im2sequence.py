"""CUDA part of lodkit/ops/im2sequence.py: a thread per element."""

from __future__ import annotations

from ...arrays.cuda import elementwise, vector
from ...jit import simd


@elementwise
def _cut(at, x, height, width, across, windows, rows, columns, down, right, up, left, channels, out):
    """``out[image, window, channel, i, j]``, windows of rows x columns that are ``down`` and ``right`` apart."""
    rest, j = at // columns, at % columns
    rest, i = rest // rows, rest % rows
    rest, c = rest // channels, rest % channels
    image, w = rest // windows, rest % windows
    y, z = w // across * down - up + i, w % across * right - left + j
    there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
    # As they lie in memory, of any type. A conditional expression of uint64 and 0 would be float64.
    if there:
        out[at] = x[((image * channels + c) * height + y) * width + z]
    else:
        out[at] = 0


@elementwise
def _put_back(at, grad, height, width, across, windows, rows, columns, down, right, up, left, channels, out):
    """Add to each element of the images those of the windows that it is in, in order."""
    y, z, plane = at // width % height + up, at % width + left, at // (width * height)
    image, c = plane // channels, plane % channels
    total = simd.full(grad, 1, 0)
    for v in range(max(0, (y - rows + down) // down), min(windows // across, y // down + 1)):
        for h in range(max(0, (z - columns + right) // right), min(across, z // right + 1)):
            window = (image * windows + v * across + h) * channels + c
            place = (window * rows + y - v * down) * columns + z - h * right
            total = simd.add(total, vector.load(grad, place, 1))
    vector.store(out, at, total)


def _grid_numbers(shape, grid):
    return *shape[2:], grid.across, grid.windows, *grid.kernels, *grid.strides, *grid.before, shape[1]


def cut(x, grid, out):
    """Fill ``out`` with the windows of images."""
    # Windows of padding alone read nothing, but the kernel still computes an address.
    source = x if x.size else x.like((1,))
    _cut.into(out, source, *_grid_numbers(x.shape, grid))


def put_back(grad, grid, x):
    """A new array like ``x``: the sum of the windows of ``grad`` that each element is in."""
    return _put_back.into(x.like(x.shape), grad, *_grid_numbers(x.shape, grid))
