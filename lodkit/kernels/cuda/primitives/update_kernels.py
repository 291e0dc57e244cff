"""Templates of all updates of a parameter in place: dense, and by the sorted runs of a SelectedRows gradient.

``count`` is the number of states, at most three, which have ``each`` numbers per element of the parameter; ``numbers``
are seven of the rule and four of ``adjust``, which comes first where a rule ``adjusts``. Arguments that a kernel does
not use may be anything. Where runs are found ``by_ids``, ``at`` are sorted ids, and every position looks whether a run
starts there: neither the number of runs nor their table is needed, so nobody waits for them.
"""

from __future__ import annotations

import functools

from ....arrays.cuda import cuda, device, vector
from ....jit import simd
from ...common import optimizer_steps
from .reduce_kernels import WARP, combine_lanes
from .sorted_runs import run_of, sum_of


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


adjusted = device(optimizer_steps.adjust)


def _gradient(width, gather, adjusts, weighted, levels):
    """The parameter, and the sum of a run's rows of ``source``, as ``sum_of`` takes it, for the step."""
    run_sum = sum_of(width, gather, weighted, levels)

    @device
    def gradient(source, start, stop, j, columns, p, numbers):
        total = run_sum(source, start, stop, j, columns)
        return adjusted(p, total, numbers) if adjusts else (p, total)

    return gradient


@functools.cache
def rows_kernel(step, width, count, each, by_ids, levels, gather, merge, adjusts=False, weighted=False, records=False):
    """Kernel of an update by runs of gradient rows, in ``order`` where it gathers.

    A group of threads takes a run, and reads and writes its row of the parameter once. With ``merge`` the run's rows
    are added up first, else the parameter takes a step for each, which ``taken`` records.
    """
    (read, write), step, run = _states(count, width, each), device(step), run_of(by_ids)
    gradient = _gradient(width, gather, adjusts, weighted, levels)

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
        tiles,
        groups,
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
        tile,
        height,
        columns,
        bits,
        runs,
    ):
        states, source, thread = (one, two, three), (value, order, scale, tiles, groups, tile), cuda.grid(1)
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        u, lane = thread >> bits, thread & ((1 << bits) - 1)
        while u < runs:
            row, start, stop = run(at, starts, u, runs, height)
            j = lane * width
            while j < columns and start < stop:
                place = row * columns + j
                p, lanes = vector.load_written(param, place, width), read(states, place)
                if merge:
                    p, g = gradient(source, start, stop, j, columns, p, numbers)
                    p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                else:
                    for i in range(start, stop):
                        before = p
                        p, g = gradient(source, i, i + 1, j, columns, p, numbers)
                        p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                        if records:
                            vector.store(taken, vector.number(order, i) * columns + j, simd.sub(before, p))
                vector.store(param, place, p)
                write(states, place, lanes)
                j += width << bits
            u += cuda.gridsize(1) >> bits

    return kernel


def _row_state(k, has_row_state):
    """Functions that read the one number of a row in the k-th state, write it, and give it to a step; or do nothing."""
    if not has_row_state:
        return device(lambda states, row, p: p), device(lambda states, row, number: None), device(lambda p, number: ())

    @device
    def write(states, row, number):
        vector.store(states[k], row, number)

    return (
        device(lambda states, row, p: vector.load_written(states[k], row, 1)),
        write,
        device(lambda p, number: (simd.like(p, simd.lane(number, 0)),)),
    )


def _row_step(step, width, count, has_row_state, adjusts, gather=False, weighted=False, levels=0):
    """A warp's row-wise step: once over the row for the squares, once to update it.

    Takes and returns the row's number, as one lane. Every thread reads what only it has written.
    """
    (read, write), gradient = _states(count, width), _gradient(width, gather, adjusts, weighted, levels)
    (_, _, spread), combine = _row_state(count, has_row_state), combine_lanes(simd.add, WARP)
    step = device(step)

    @device
    def update(param, states, row, number, source, start, stop, columns, numbers):
        first = (cuda.threadIdx.x & (WARP - 1)) * width
        total, after, j = simd.full(param, width, 0), number, first
        while j < columns:
            p = vector.load_written(param, row * columns + j, width)
            p, g = gradient(source, start, stop, j, columns, p, numbers)
            total = simd.add(total, simd.mul(g, g))
            j += WARP * width
        total = combine(simd.reduce(simd.add, total))
        mean, j = simd.div(total, simd.like(total, columns)), first
        while j < columns:
            place = row * columns + j
            p = vector.load_written(param, place, width)
            p, g = gradient(source, start, stop, j, columns, p, numbers)
            squares = simd.like(p, simd.lane(mean, 0))
            p, lanes = step(p, read(states, place) + spread(p, number), g, squares, numbers)
            vector.store(param, place, p)
            write(states, place, lanes)
            if has_row_state:
                after = simd.like(number, simd.lane(lanes[count], 0))
            j += WARP * width
        return after

    return update


@functools.cache
def rowwise_kernel(step, width, count, has_row_state, by_ids, levels, gather, merge, adjusts=False, weighted=False):
    """Kernel of a row-wise update by runs, one warp per run.

    It ``has_row_state`` where the last state has one number per row.
    """
    update = _row_step(step, width, count, has_row_state, adjusts, gather, weighted, levels)
    (load, store, _), run = _row_state(count, has_row_state), run_of(by_ids)

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
        tiles,
        groups,
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
        tile,
        height,
        columns,
        runs,
    ):
        states, source, u = (one, two, three), (value, order, scale, tiles, groups, tile), cuda.grid(1) >> 5
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        while u < runs:
            row, start, stop = run(at, starts, u, runs, height)
            if start < stop:
                number = load(states, row, simd.full(param, 1, 0))
                if merge:
                    number = update(param, states, row, number, source, start, stop, columns, numbers)
                else:
                    for i in range(start, stop):
                        number = update(param, states, row, number, source, i, i + 1, columns, numbers)
                if cuda.threadIdx.x & (WARP - 1) == 0:
                    store(states, row, number)
            u += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def rowwise_dense_kernel(step, width, count, has_row_state, adjusts=False, idle=False):
    """Kernel of a row-wise update by a dense gradient, one warp per row; of ``idle`` rows, as ``dense_kernel``."""
    update = _row_step(step, width, count, has_row_state, adjusts)
    load, store, _ = _row_state(count, has_row_state)

    @cuda.jit
    def kernel(param, one, two, three, grad, taken, n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound, columns, n):
        # The gradient is all that such a row is made of; an idle row is the sum of none.
        states, source, row = (one, two, three), (grad, grad, grad, grad, grad, 1), cuda.grid(1) >> 5
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        while row < n:
            if not (idle and taken[row]):
                number = load(states, row, simd.full(param, 1, 0))
                number = update(param, states, row, number, source, row, row if idle else row + 1, columns, numbers)
                if cuda.threadIdx.x & (WARP - 1) == 0:
                    store(states, row, number)
            row += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def dense_kernel(step, width, count, each, adjusts=False, records=False, idle=False):
    """Kernel of a dense update of ``n`` elements, ``width`` at a time.

    Of ``idle`` rows, the gradient is 0, and ``taken`` has a flag for each row: the flagged ones stay as they are.
    """
    (read, write), step = _states(count, width, each), device(step)

    @cuda.jit
    def kernel(param, one, two, three, grad, taken, n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound, columns, n):
        states, j = (one, two, three), cuda.grid(1) * width
        numbers = n0, n1, n2, n3, n4, n5, n6, decay, keep, factor, bound
        while j < n:
            if not (idle and taken[j // columns]):
                before = vector.load_written(param, j, width)
                g = simd.like(before, 0) if idle else vector.load(grad, j, width)
                p, g = adjusted(before, g, numbers) if adjusts else (before, g)
                p, lanes = step(p, read(states, j), g, simd.mul(g, g), numbers)
                vector.store(param, j, p)
                write(states, j, lanes)
                if records:
                    vector.store(taken, j, simd.sub(before, p))
            j += cuda.gridsize(1) * width

    return kernel
