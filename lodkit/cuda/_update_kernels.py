"""The templates of every update of a parameter in place: dense, and by the sorted runs of a SelectedRows gradient."""

from __future__ import annotations

import functools

from .. import simd
from . import vector
from .launch import cuda, device


def _run_sum(width, gather):
    @device
    def run_sum(value, order, start, stop, j, columns):
        total = simd.full(value, width, 0)
        for i in range(start, stop):
            row = vector.number(order, i) if gather else i
            total = simd.add(total, vector.load(value, row * columns + j, width))
        return total

    return run_sum


@functools.cache
def rows_kernel(step, width, stateful, gather, merge):
    """The kernel of an update by runs of gradient rows: ``order`` where there is one, else the rows themselves.

    A group of threads takes a run, and reads and writes its row of the parameter once. With ``merge`` the run's rows
    are added up first, else the parameter takes a step for each.
    """
    run_sum, step = _run_sum(width, gather), device(step)

    @cuda.jit
    def kernel(param, moment, at, order, starts, value, lr, epsilon, columns, bits, runs):
        thread = cuda.grid(1)
        u, lane = thread >> bits, thread & ((1 << bits) - 1)
        while u < runs:
            start, stop = vector.number(starts, u), vector.number(starts, u + 1)
            j = lane * width
            while j < columns:
                place = vector.number(at, u) * columns + j
                p = vector.load_written(param, place, width)
                state = vector.load_written(moment, place, width) if stateful else p
                if merge:
                    p, state = step(p, state, run_sum(value, order, start, stop, j, columns), lr, epsilon)
                else:
                    for i in range(start, stop):
                        p, state = step(p, state, run_sum(value, order, i, i + 1, j, columns), lr, epsilon)
                vector.store(param, place, p)
                if stateful:
                    vector.store(moment, place, state)
                j += width << bits
            u += cuda.gridsize(1) >> bits

    return kernel


@functools.cache
def dense_kernel(step, width, stateful):
    """The kernel of a dense update of ``n`` elements, W at a time."""
    step = device(step)

    @cuda.jit
    def kernel(param, moment, grad, lr, epsilon, n):
        j = cuda.grid(1) * width
        while j < n:
            p = vector.load_written(param, j, width)
            state = vector.load_written(moment, j, width) if stateful else p
            p, state = step(p, state, vector.load(grad, j, width), lr, epsilon)
            vector.store(param, j, p)
            if stateful:
                vector.store(moment, j, state)
            j += cuda.gridsize(1) * width

    return kernel
