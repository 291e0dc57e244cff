"""Templates of all updates of a parameter in place: dense, and by the sorted runs of a SelectedRows gradient.

``count`` is the number of states, at most three, which have ``each`` numbers per element of the parameter; ``numbers``
are seven of the rule and four of ``adjusted``, which comes first where a rule ``adjusts``. Arguments that a kernel does
not use may be anything.
"""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, vector
from ....jit import simd
from ...common import optimizer_steps
from .reduce_kernels import WARP, across


def _states(count, width, each=1):
    """Functions that read and write lanes of the states, with ``each`` numbers per lane."""
    if not count:
        return device(lambda states, place: ()), device(lambda states, place, lanes: None)
    k = count - 1
    read_others, write_others = _states(k, width, each)
    lanes_each = each * width

    @device
    def read(states, place):
        return read_others(states, place) + (vector.load_written(states[k], each * place, lanes_each),)  # noqa: RUF005

    @device
    def write(states, place, lanes):
        write_others(states, place, lanes)
        vector.store(states[k], each * place, lanes[k])

    return read, write


adjusted = device(optimizer_steps.adjusted)


def _gradient(width, gather, adjusts, weighted):
    """The parameter, and the sum of a run's rows, times ``scale`` where it is weighted, as the step takes them."""

    @device
    def gradient(value, order, scale, start, stop, j, columns, p, numbers):
        total = simd.full(value, width, 0)
        for i in range(start, stop):
            row = vector.number(order, i) if gather else i
            g = vector.load(value, row * columns + j, width)
            if weighted:
                g = simd.mul(g, simd.like(g, vector.number(scale, i)))
            total = simd.add(total, g)
        return adjusted(p, total, numbers) if adjusts else (p, total)

    return gradient


@functools.cache
def rows_kernel(step, width, count, each, gather, merge, adjusts=False, weighted=False, records=False):
    """Kernel of an update by runs of gradient rows, in ``order`` where it gathers.

    A group of threads takes a run, and reads and writes its row of the parameter once. With ``merge`` the run's rows
    are added up first, else the parameter takes a step for each, which ``taken`` records.
    """
    (read, write), step = _states(count, width, each), device(step)
    gradient = _gradient(width, gather, adjusts, weighted)

    @cuda.jit
    def kernel(
        param,
        one,
        two,
        three,
        at,
        order,
        starts,
        value,
        scale,
        taken,
        n0,
        n1,
        n2,
        n3,
        n4,
        n5,
        n6,
        decay,
        keep,
        factor,
        bound,
        columns,
        bits,
        runs,
    ):
        states, thread = (one, two, three), cuda.grid(1)
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        u, lane = thread >> bits, thread & ((1 << bits) - 1)
        while u < runs:
            start, stop = vector.number(starts, u), vector.number(starts, u + 1)
            j = lane * width
            while j < columns:
                place = vector.number(at, u) * columns + j
                p, lanes = vector.load_written(param, place, width), read(states, place)
                if merge:
                    p, g = gradient(value, order, scale, start, stop, j, columns, p, numbers)
                    p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                else:
                    for i in range(start, stop):
                        before = p
                        p, g = gradient(value, order, scale, i, i + 1, j, columns, p, numbers)
                        p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                        if records:
                            vector.store(taken, vector.number(order, i) * columns + j, simd.sub(before, p))
                vector.store(param, place, p)
                write(states, place, lanes)
                j += width << bits
            u += cuda.gridsize(1) >> bits

    return kernel


def _row_state(k, keeps):
    """Functions that read the one number of a row in the k-th state, write it, and give it to a step; or do nothing."""
    if not keeps:
        return device(lambda states, row, p: p), device(lambda states, row, number: None), device(lambda p, number: ())

    @device
    def write(states, row, number):
        vector.store(states[k], row, number)

    return (
        device(lambda states, row, p: vector.load_written(states[k], row, 1)),
        write,
        device(lambda p, number: (simd.like(p, simd.lane(number, 0)),)),
    )


def _row_step(step, width, count, keeps, gather, adjusts, weighted):
    """A warp's row-wise step: once over the row for the squares, once to update it.

    Takes and returns the row's number, as one lane. Every thread reads what only it has written.
    """
    (read, write), gradient = _states(count, width), _gradient(width, gather, adjusts, weighted)
    (_, _, spread), combine = _row_state(count, keeps), across(simd.add, WARP)
    step = device(step)

    @device
    def update(param, states, row, number, value, order, scale, start, stop, columns, numbers):
        first = (cuda.threadIdx.x & (WARP - 1)) * width
        total, after, j = simd.full(param, width, 0), number, first
        while j < columns:
            p = vector.load_written(param, row * columns + j, width)
            p, g = gradient(value, order, scale, start, stop, j, columns, p, numbers)
            total = simd.add(total, simd.mul(g, g))
            j += WARP * width
        total = combine(simd.reduce(simd.add, total))
        mean, j = simd.div(total, simd.like(total, columns)), first
        while j < columns:
            place = row * columns + j
            p = vector.load_written(param, place, width)
            p, g = gradient(value, order, scale, start, stop, j, columns, p, numbers)
            squares = simd.like(p, simd.lane(mean, 0))
            p, lanes = step(p, read(states, place) + spread(p, number), g, squares, numbers)
            vector.store(param, place, p)
            write(states, place, lanes)
            if keeps:
                after = simd.like(number, simd.lane(lanes[count], 0))
            j += WARP * width
        return after

    return update


@functools.cache
def rowwise_kernel(step, width, count, keeps, gather, merge, adjusts=False, weighted=False):
    """Kernel of a row-wise update by runs, one warp per run; ``keeps`` where the last state has one number per row."""
    update = _row_step(step, width, count, keeps, gather, adjusts, weighted)
    load, store, _ = _row_state(count, keeps)

    @cuda.jit
    def kernel(
        param,
        one,
        two,
        three,
        at,
        order,
        starts,
        value,
        scale,
        taken,
        n0,
        n1,
        n2,
        n3,
        n4,
        n5,
        n6,
        decay,
        keep,
        factor,
        bound,
        columns,
        runs,
    ):
        states, u = (one, two, three), cuda.grid(1) >> 5
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        while u < runs:
            row, start, stop = vector.number(at, u), vector.number(starts, u), vector.number(starts, u + 1)
            number = load(states, row, simd.full(param, 1, 0))
            if merge:
                number = update(param, states, row, number, value, order, scale, start, stop, columns, numbers)
            else:
                for i in range(start, stop):
                    number = update(param, states, row, number, value, order, scale, i, i + 1, columns, numbers)
            if cuda.threadIdx.x & (WARP - 1) == 0:
                store(states, row, number)
            u += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def dense_kernel(step, width, count, each, adjusts=False, records=False):
    """Kernel of a dense update of ``n`` elements, ``width`` at a time."""
    (read, write), step = _states(count, width, each), device(step)

    @cuda.jit
    def kernel(param, one, two, three, grad, taken, n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound, n):
        states, j = (one, two, three), cuda.grid(1) * width
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        while j < n:
            before, g = vector.load_written(param, j, width), vector.load(grad, j, width)
            p, g = adjusted(before, g, numbers) if adjusts else (before, g)
            p, lanes = step(p, read(states, j), g, simd.mul(g, g), numbers)
            vector.store(param, j, p)
            write(states, j, lanes)
            if records:
                vector.store(taken, j, simd.sub(before, p))
            j += cuda.gridsize(1) * width

    return kernel
