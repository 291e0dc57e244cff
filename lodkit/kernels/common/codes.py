"""Codes of a few bits of a row of numbers: plain functions of vectors, for both devices.

They follow FBGEMM in float32, step by step, so that the bytes are the same.
"""

from __future__ import annotations

import numpy as np

from ...jit import simd

# 2^23: a float32 that is added to it loses its fraction, rounded to the nearest, ties to even.
ROUNDS = 8388608.0


def grid(bits):
    """Make the function of a row's minimum and maximum, one lane each, that gives scale, bias and factor of codes."""
    if bits == 8:

        def grid_of(low, high):
            span, all_codes = simd.sub(high, low), simd.like(low, 255.0)
            return simd.div(span, all_codes), low, simd.div(all_codes, simd.add(span, simd.like(low, 1e-8)))

        return grid_of
    most = 2.0**bits - 1

    def half_grid_of(low, high):
        bias = simd.half(low)
        scale = simd.half(simd.div(simd.sub(high, bias), simd.like(low, most)))
        if simd.lane(scale, 0) == 0:
            scale = simd.like(scale, 1.0)
        return scale, bias, simd.div(simd.like(scale, 1.0), scale)

    return half_grid_of


def coder(bits):
    """Make the function of numbers, bias and factor that gives codes: whole numbers in float32, 0 for NaN."""
    most = 2.0**bits - 1

    def codes_of(x, bias, factor):
        x = simd.mul(simd.sub(x, simd.like(x, simd.lane(bias, 0))), simd.like(x, simd.lane(factor, 0)))
        x = simd.minimum(simd.larger(simd.like(x, 0.0), x), simd.like(x, most))
        return simd.sub(simd.add(x, simd.like(x, ROUNDS)), simd.like(x, ROUNDS))

    return codes_of


# Bins of a row's span: the steps of the search, and the number where it ends.
BINS, LEAST_BINS = np.float32(200), np.float32(168)


def greedy(loss_of):
    """Make the search for the bounds of a row's codes: from its extremes inwards, by the step that loses less.

    ``loss_of(table, row, columns, low, high)`` is the sum of squared errors with these bounds; FBGEMM's search.
    """

    def search(table, row, columns, low, high):
        step = (high - low) / BINS
        least, best_low, best_high = LEAST_BINS * step, low, high
        loss = loss_of(table, row, columns, low, high)
        best = loss
        while low + least < high:
            from_left = loss_of(table, row, columns, low + step, high)
            from_right = loss_of(table, row, columns, low, high - step)
            if loss < from_left and loss < from_right and loss < best:
                best, best_low, best_high = loss, low, high
            if from_left < from_right:
                low, loss = low + step, from_left
            else:
                high, loss = high - step, from_right
        return best_low, best_high

    return search
