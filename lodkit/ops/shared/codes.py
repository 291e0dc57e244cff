"""What codes of a few bits mean: scale and bias of a row, and the search for its bounds."""

from __future__ import annotations

import numpy as np


def half_grid(low, high, bits):
    """Scale and bias of codes between two bounds, as float16 holds them."""
    bias = low.astype(np.float16).astype(np.float32)
    scale = ((high - bias) / np.float32(2**bits - 1)).astype(np.float16).astype(np.float32)
    return np.where(scale == 0, np.float32(1), scale), bias


def find_bounds(row, low, high, bits):
    """Bounds between which codes lose less than between the extremes: at each step one of them moves inwards."""

    def loss(low, high):
        scale, bias = half_grid(low, high, bits)
        codes = np.rint(((row - bias) * (np.float32(1) / scale)).clip(0, 2**bits - 1))
        return np.square(row - (codes * scale + bias), dtype=np.float64).sum()

    step, found = (high - low) / np.float32(200), (low, high)
    least, best = np.float32(168) * step, loss(low, high)
    now = best
    while low + least < high:
        left, right = loss(low + step, high), loss(low, high - step)
        if now < left and now < right and now < best:
            best, found = now, (low, high)
        if left < right:
            low, now = low + step, left
        else:
            high, now = high - step, right
    return found
