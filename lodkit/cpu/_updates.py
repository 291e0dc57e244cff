"""The templates of every update of a parameter in place: dense, and by the sorted runs of a SelectedRows gradient.

An optimizer is a step of ``lodkit.steps``. A parameter's row is read and written once, whatever number of gradient rows
falls on it.
"""

from __future__ import annotations

import functools

import numpy as np

from .. import simd, steps
from ..jit import jitable, njit, prange, threaded
from ._rows import first_at_least
from ._sort import sort_few

AHEAD = 32  # rows between a prefetch and its use: 2.5 times faster than without
LANES = 16


def whole_width(columns):
    """Lanes that divide a row: a strip that overlapped another one would be updated twice."""
    return min(columns & -columns, 64)


sgd_step, adagrad_step = jitable(steps.sgd), jitable(steps.adagrad)


def _run_sum(width):
    """The sum of a run's rows: the row itself, or the sum in double precision, rounded once."""

    @jitable(inline=True)
    def run_sum(value, order, start, stop, j):
        if stop - start == 1:
            return simd.load(value, order[start], j, width)
        total = simd.widen(simd.full(value, width, 0))
        for i in range(start, stop):
            simd.prefetch(value, order[min(i + AHEAD, len(order) - 1)], j, width * value.itemsize)
            total = simd.add(total, simd.widen(simd.load(value, order[i], j, width)))
        return simd.narrow(value, total)

    return run_sum


@functools.cache
def rows_kernel(step, width, stateful, merge):
    """Kernel of an update by runs of gradient rows; chunks take the runs that start in their rows."""
    run_sum = _run_sum(width)

    @threaded
    def kernel(param, moment, at, order, starts, value, lr, epsilon, chunk):
        size = width * param.itemsize
        for c in prange((len(order) + chunk - 1) // chunk):
            for u in range(first_at_least(starts, c * chunk), min(len(at), first_at_least(starts, (c + 1) * chunk))):
                row, start, stop = at[u], starts[u], starts[u + 1]
                for j in range(0, param.shape[1], width):
                    simd.prefetch(param, at[min(u + AHEAD, len(at) - 1)], j, size)
                    simd.prefetch(value, order[min(start + AHEAD, len(order) - 1)], j, size)
                    p = simd.load(param, row, j, width)
                    state = simd.load(moment, row, j, width) if stateful else p
                    if stateful:
                        simd.prefetch(moment, at[min(u + AHEAD, len(at) - 1)], j, size)
                    if merge:
                        p, state = step(p, state, run_sum(value, order, start, stop, j), lr, epsilon)
                    else:
                        for i in range(start, stop):
                            p, state = step(p, state, simd.load(value, order[i], j, width), lr, epsilon)
                    simd.store(param, row, j, p)
                    if stateful:
                        simd.store(moment, row, j, state)

    return kernel


@functools.cache
def few_kernel(step, width, stateful, merge):
    """Kernel of an update by a handful of rows, sorted on the way: one call, where three take twice as long."""
    update = rows_kernel(step, width, stateful, merge).serial

    @njit
    def kernel(param, moment, rows, value, lr, epsilon, bits):
        n = len(rows)
        order, starts, unique = np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
        runs = sort_few(rows, bits, order, starts, unique)
        update(param, moment, unique[:runs], order, starts[: runs + 1], value, lr, epsilon, n)

    return kernel


def _strip(step, width, stateful):
    @jitable(inline=True)
    def update(param, moment, grad, j, lr, epsilon):
        p = simd.load(param, 0, j, width)
        state = simd.load(moment, 0, j, width) if stateful else p
        p, state = step(p, state, simd.load(grad, 0, j, width), lr, epsilon)
        simd.store(param, 0, j, p)
        if stateful:
            simd.store(moment, 0, j, state)

    return update


@functools.cache
def dense_kernel(step, stateful):
    """Kernel of a dense update; arrays are ``(1, elements)``."""
    many, one = _strip(step, LANES, stateful), _strip(step, 1, stateful)

    @threaded
    def kernel(param, moment, grad, lr, epsilon, chunk):
        size = param.shape[1]
        for c in prange((size + chunk - 1) // chunk):
            start, stop = c * chunk, min(size, (c + 1) * chunk)
            whole = stop - (stop - start) % LANES
            for j in range(start, whole, LANES):
                many(param, moment, grad, j, lr, epsilon)
            for j in range(whole, stop):
                one(param, moment, grad, j, lr, epsilon)

    return kernel
