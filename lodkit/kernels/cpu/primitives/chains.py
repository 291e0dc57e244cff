"""Walks along chains of states inside kernels: sums, or maxima, over all ways to each state of each step.

``shares`` and ``exps`` are exponentials, scaled to a maximum of 1, and vectors are scaled so at each step: it is one
product of a vector and a matrix. Where an element of a product is less than TINY, terms that matter may have
underflowed: that chain is computed again from logarithms. Matrices have a row for the first state, one for the last,
and one after each state; columns are a multiple of W.
"""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, simd

W = 8
# Terms below the smallest float64, 1e-308, change no sum above this, nor the product of two such sums.
MIN_TERM = 1e-130


@jitable(inline=True, nrt=False)
def spread(x, i, k, like):
    return simd.like(like, simd.lane(simd.load(x, i, k, 1), 0))


@jitable(nrt=False)
def _product(row, matrix, tags, out, i):
    """Put ``row @ matrix[2:]`` into ``out[i]``. Returns the smallest element."""
    least = simd.full(out, W, np.inf)
    for j in range(0, out.shape[1], W):
        even = odd = simd.full(out, W, 0)
        for k in range(0, tags - 1, 2):
            even = simd.fma(spread(row, 0, k, even), simd.load(matrix, 2 + k, j, W), even)
            odd = simd.fma(spread(row, 0, k + 1, odd), simd.load(matrix, 3 + k, j, W), odd)
        if tags % 2:
            even = simd.fma(spread(row, 0, tags - 1, even), simd.load(matrix, 1 + tags, j, W), even)
        total = simd.add(even, odd)
        simd.store(out, i, j, total)
        least = simd.minimum(least, total)
    return simd.lane(simd.reduce(simd.minimum, least), 0)


@jitable(nrt=False)
def _copy(x, i, out, k):
    for j in range(0, out.shape[1], W):
        simd.store(out, k, j, simd.load(x, i, j, W))


@jitable(nrt=False)
def weigh(x, shares, i, row):
    """Put ``x[i] * shares[i]``, scaled to a maximum of 1, into ``row``. Returns what it was divided by."""
    most = simd.full(row, W, 0)
    for j in range(0, row.shape[1], W):
        product = simd.mul(simd.load(x, i, j, W), simd.load(shares, i, j, W))
        simd.store(row, 0, j, product)
        most = simd.maximum(most, product)
    top = simd.reduce(simd.maximum, most)
    for j in range(0, row.shape[1], W):
        lanes = simd.load(row, 0, j, W)
        simd.store(row, 0, j, simd.div(lanes, simd.like(lanes, simd.lane(top, 0))))
    return simd.lane(top, 0)


@jitable(nrt=False)
def walk_scaled(shares, matrix, tags, n, back, row, out):
    """Put the scaled sums over all ways to each step into ``out``. Returns the logarithm of the scale, or NaN."""
    logs = 0.0
    for k in range(n):
        i, least = n - 1 - k if back else k, 1.0
        if k == 0:
            _copy(matrix, 0, out, i)
        else:
            least = _product(row, matrix, tags, out, i)
        top = weigh(out, shares, i, row)
        if not (least >= MIN_TERM and top >= MIN_TERM):
            return np.nan
        logs += np.log(top)
    return logs


@jitable(nrt=False)
def _shares(emission, start, n, out):
    """Put exp(x - max) of each step into ``out``. Returns the sum of the maxima."""
    total = 0.0
    for i in range(n):
        most = simd.load(emission, start + i, 0, W)
        for j in range(W, out.shape[1], W):
            most = simd.maximum(most, simd.load(emission, start + i, j, W))
        top = simd.reduce(simd.maximum, most)
        total += simd.lane(top, 0)
        for j in range(0, out.shape[1], W):
            x = simd.load(emission, start + i, j, W)
            simd.store(out, i, j, simd.exp(simd.sub(x, simd.like(x, simd.lane(top, 0)))))
    return total


@jitable(nrt=False)
def _dot(row, matrix, i):
    total = simd.full(row, W, 0)
    for j in range(0, row.shape[1], W):
        total = simd.fma(simd.load(row, 0, j, W), simd.load(matrix, i, j, W), total)
    return simd.lane(simd.reduce(simd.add, total), 0)


@functools.cache
def _walker(best):
    @jitable(nrt=False)
    def combine(row, matrix, tags, j):
        """The maximum, or the logarithm of the sum, of all scores of W tags."""
        top = simd.add(spread(row, 0, 0, simd.load(matrix, 2, j, W)), simd.load(matrix, 2, j, W))
        for k in range(1, tags):
            x = simd.load(matrix, 2 + k, j, W)
            top = simd.maximum(top, simd.add(spread(row, 0, k, x), x))
        if best:
            return top
        shift, total = simd.zero_nonfinite(top), simd.like(top, 0)
        for k in range(tags):
            x = simd.load(matrix, 2 + k, j, W)
            total = simd.add(total, simd.exp(simd.sub(simd.add(spread(row, 0, k, x), x), shift)))
        return simd.add(simd.log(total), shift)

    @jitable(nrt=False)
    def walk(emission, start, matrix, tags, n, back, row, out):
        """Put the combined scores of all ways to each step into ``out``; ``row`` keeps the last, with its emission."""
        for k in range(n):
            i = n - 1 - k if back else k
            if k == 0:
                _copy(matrix, 0, out, i)
            else:
                for j in range(0, out.shape[1], W):
                    simd.store(out, i, j, combine(row, matrix, tags, j))
            for j in range(0, out.shape[1], W):
                simd.store(row, 0, j, simd.add(simd.load(out, i, j, W), simd.load(emission, start + i, j, W)))

    return walk


walk_logs, walk_best = _walker(False), _walker(True)


@jitable(nrt=False)
def _log_sum(row, matrix, i, tags):
    top = row[0, 0] + matrix[i, 0]
    for k in range(1, tags):
        x = row[0, k] + matrix[i, k]
        top = x if x > top or x != x else top
    if np.isinf(top):
        return top
    total = 0.0
    for k in range(tags):
        total += np.exp(row[0, k] + matrix[i, k] - top)
    return top + np.log(total)


@jitable(nrt=False)
def log_total(emission, start, n, tags, tables, row, shares, before):
    """The logarithm of the sum over all ways through a sequence, and whether ``before`` has scaled sums."""
    logs, _, exps, _, shifts = tables
    logarithms = _shares(emission, start, n, shares) + walk_scaled(shares, exps, tags, n, False, row, before)
    last = _dot(row, exps, 1)
    if last >= MIN_TERM:
        logarithms += np.log(last) + shifts[0] + shifts[1] + (n - 1) * shifts[2]
        if logarithms == logarithms:
            return logarithms, True
    walk_logs(emission, start, logs, tags, n, False, row, before)
    return _log_sum(row, logs, 1, tags), False
