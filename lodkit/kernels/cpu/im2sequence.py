"""CPU part of lodkit/ops/im2sequence.py."""

from __future__ import annotations

import numpy as np

from ... import arrays
from ...arrays import upcast, words
from ...jit import parallel_kernel, prange


@parallel_kernel
def _cut(x, across, kernels, strides, before, out):
    """Copy the elements of each window: ``out[image, window, channel, i, j]``."""
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
    """Add the elements of each window to the image, channel by channel."""
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


def _grid_numbers(grid):
    return grid.across, grid.kernels, grid.strides, grid.before


def cut(x, grid, out):
    """Fill ``out`` with the windows of images."""
    windows = words(out).reshape(len(x), grid.windows, x.shape[1], *grid.kernels)
    _cut(out.size, words(x).reshape(x.shape), *_grid_numbers(grid), windows)


def put_back(grad, grid, x):
    """A new array like ``x``: the sum of the windows of ``grad`` that each element is in."""
    windows = np.ascontiguousarray(upcast(grad)).reshape(len(x), grid.windows, x.shape[1], *grid.kernels)
    out = arrays.output(x.shape, windows.dtype)
    if out.size:
        _put_back(grad.size, windows, *_grid_numbers(grid), out)
    with np.errstate(over="ignore"):
        return out.astype(grad.dtype, copy=False)
