"""Strips of scores, and blocks of rows, inside kernels: softmax, its gradient, copies of a head's columns."""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, simd

STEP = 16  # lanes of a copy


@jitable(nrt=False)
def hide(strip, i, start, stop, number):
    for j in range(start, stop):
        strip[i, j] = number


@functools.cache
def steps(width):
    """Functions of a strip, for W lanes: the softmax of a row, and the gradient of its scores."""

    @jitable(inline=True, nrt=False)
    def total_of(strip, i, limit):
        total = simd.load(strip, i, 0, width)
        for j in range(width, limit, width):
            total = simd.add(total, simd.load(strip, i, j, width))
        return simd.lane(simd.reduce(simd.add, total), 0)

    @jitable(nrt=False)
    def softmax(strip, i, count, limit):
        """Put exp(x - max) for the first ``count`` scores of row i, zeros behind. Returns 1 / their sum."""
        hide(strip, i, count, limit, -np.inf)
        top = simd.load(strip, i, 0, width)
        for j in range(width, limit, width):
            top = simd.maximum(top, simd.load(strip, i, j, width))
        top = simd.reduce(simd.maximum, top)
        most = simd.lane(top, 0)
        # k entries of +inf get 1/k each, entries of -inf 0.
        if np.isinf(most):
            for j in range(limit):
                strip[i, j] = most > 0 and strip[i, j] == most
        else:
            for j in range(0, limit, width):
                x = simd.load(strip, i, j, width)
                simd.store(strip, i, j, simd.exp(simd.sub(x, simd.like(x, most))))
        total = total_of(strip, i, limit)
        return 1 / total if total != 0 else total

    @jitable(nrt=False)
    def gradient(strip, grads, i, share, count, limit):
        """Make row i shares, ``strip * share``, and their gradients ``(grads - sum(grads * shares)) * shares``."""
        hide(grads, i, count, limit, 0)
        total = simd.full(strip, width, 0)
        for j in range(0, limit, width):
            x = simd.load(strip, i, j, width)
            x = simd.mul(x, simd.like(x, share))
            simd.store(strip, i, j, x)
            total = simd.fma(x, simd.load(grads, i, j, width), total)
        total = simd.lane(simd.reduce(simd.add, total), 0)
        for j in range(0, limit, width):
            g = simd.load(grads, i, j, width)
            simd.store(grads, i, j, simd.mul(simd.sub(g, simd.like(g, total)), simd.load(strip, i, j, width)))

    return softmax, gradient


@jitable
def round_up(number, step):
    """The next multiple."""
    return (number + step - 1) // step * step


@jitable(inline=True, nrt=False)
def copy(x, i, j, columns, factor, out, row, to):
    """Put ``x[i, j : j + columns] * factor`` into ``out[row, to : to + columns]``."""
    whole = columns - columns % STEP
    for k in range(0, whole, STEP):
        lanes = simd.load(x, i, j + k, STEP)
        simd.store(out, row, to + k, simd.mul(lanes, simd.like(lanes, factor)))
    if whole < columns:
        lanes = simd.load_first(x, i, j + whole, STEP, columns - whole, 0)
        simd.store_first(out, row, to + whole, simd.mul(lanes, simd.like(lanes, factor)), columns - whole)


@jitable(nrt=False)
def is_finite(x, first, rows, j, columns):
    """True if no element of ``x[first : first + rows, j : j + columns]`` is infinite or NaN."""
    for i in range(first, first + rows):
        for k in range(0, columns, STEP):
            if not simd.is_finite(simd.load_first(x, i, j + k, STEP, columns - k, 0)):
                return False
    return True


@jitable(nrt=False)
def clear(x, rows):
    for i in range(rows):
        for j in range(x.shape[1]):
            x[i, j] = 0
