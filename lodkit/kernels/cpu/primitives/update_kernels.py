"""Templates of all updates of a parameter in place: dense, and by the sorted runs of a SelectedRows gradient.

An optimizer is a step of ``kernels.common.optimizer_steps``. A parameter's row is read and written once, however many
gradient rows fall on it. ``count`` is the number of states, which have ``state_width`` numbers per element of the
parameter; a gradient row is the ``order[i]``-th of ``value``, times ``scale[i]`` where it is ``weighted``. The step
``adjust`` comes first where a rule ``adjusts``. An argument that a kernel does not read is any array of the type that
all callers pass, so that they share its code.
"""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, lower_bound, parallel_kernel, prange, simd
from ...common.optimizer_steps import adjust
from .sort import sort_few
from .update_states import LANES, LEVEL, ROWS_AHEAD, SECOND_DISTANCE, fetch_of, row_state_of, states_of


def whole_width(columns, most=64):
    """Lanes that divide a row: a strip that overlapped another one would be updated twice."""
    return min(columns & -columns, most)


@functools.cache
def run_sum_of(width, weighted=False):
    """The sum of a run's rows, to the bits of ``sum_kernel``, so that a gradient and its merged form step alike.

    What it multiplies by a scale is rounded before it is added: to the bits of rows that were scaled first.
    """

    @jitable(inline=True)
    def row(value, order, scale, i, j):
        g = simd.load(value, order[i], j, width)
        return simd.mul(g, simd.like(g, scale[i])) if weighted else g

    @jitable(inline=True)
    def run_sum(value, order, scale, start, stop, j, block):
        part, left, last = simd.full(value, width, 0), block, len(order) - 1
        if stop - start == 1:
            # The sum turns -0.0 into 0.0.
            return simd.add(part, row(value, order, scale, start, j))
        if stop - start <= block:
            for i in range(start, stop):
                simd.prefetch_lanes(value, order[min(i + ROWS_AHEAD, last)], j, width, True, LEVEL)
                part = simd.add(part, row(value, order, scale, i, j))
            return part
        total = simd.widen(part)
        for i in range(start, stop):
            simd.prefetch_lanes(value, order[min(i + ROWS_AHEAD, last)], j, width, True, LEVEL)
            part = simd.add(part, row(value, order, scale, i, j))
            left -= 1
            if left == 0:
                total, part, left = simd.add(total, simd.widen(part)), simd.full(value, width, 0), block
        return simd.narrow(value, simd.add(total, simd.widen(part)))

    return run_sum


@jitable
def _sorted_runs(at, order, starts):
    """The rows that a kernel updates, and their runs: those given, or of a handful of unsorted rows without any.

    In the kernel, so that such an update is one call of compiled code.
    """
    if len(starts):
        return at, order, starts
    n, bits = len(at), 1
    while n > 1 << bits:
        bits += 1
    order, starts, unique = np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    runs = sort_few(at, bits, order, starts, unique)
    return unique[:runs], order, starts[: runs + 1]


@functools.cache
def rows_kernel(step, width, count, state_width, merge, adjusts=False, weighted=False, records_step=False):
    """Kernel of an update by runs of gradient rows; chunks take the runs that start in their rows.

    With ``records_step`` and without ``merge``, ``applied_step`` gets the step of each gradient row. Without ``starts``
    the rows ``at`` are in any order, and each may be listed several times.
    """
    (read, write, _), run_sum = states_of(count, width, state_width), run_sum_of(width, weighted)
    fetch = fetch_of(count, width, state_width, SECOND_DISTANCE)

    @parallel_kernel
    def kernel(param, states, at, order, starts, value, scale, applied_step, numbers, chunk, block):
        at, order, starts = _sorted_runs(at, order, starts)
        for c in prange((len(order) + chunk - 1) // chunk):
            for u in range(lower_bound(starts, c * chunk), min(len(at), lower_bound(starts, (c + 1) * chunk))):
                row, start, stop = at[u], starts[u], starts[u + 1]
                for j in range(0, param.shape[1], width):
                    fetch(param, states, at, u, value, order, start, j)
                    p, lanes = simd.load(param, row, j, width), read(states, row, j)
                    for i in range(start, start + 1 if merge else stop):
                        before, g = p, run_sum(value, order, scale, i, stop if merge else i + 1, j, block)
                        if adjusts:
                            p, g = adjust(p, g, numbers)
                        p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                        if records_step and not merge:
                            simd.store(applied_step, order[i], j, simd.sub(before, p))
                    simd.store(param, row, j, p)
                    write(states, row, j, lanes)

    return kernel


@functools.cache
def spread_kernel(step, width, count, state_width, adjusts=False):
    """Kernel of an update of all rows by the runs of those that a gradient lists, in order; others have gradient 0.

    Its arguments are those of ``rows_kernel``. A dense gradient would be written and read once more: this takes 0.6 of
    the time, and none of its memory.
    """
    (read, write, _), run_sum = states_of(count, width, state_width), run_sum_of(width)

    @parallel_kernel
    def kernel(param, states, at, order, starts, value, scale, applied_step, numbers, chunk, block):
        at, order, starts = _sorted_runs(at, order, starts)
        for c in prange((len(param) + chunk - 1) // chunk):
            u = lower_bound(at, c * chunk)
            for row in range(c * chunk, min(len(param), (c + 1) * chunk)):
                listed = u < len(at) and at[u] == row
                for j in range(0, param.shape[1], width):
                    p, lanes, g = simd.load(param, row, j, width), read(states, row, j), simd.full(value, width, 0)
                    if listed:
                        g = run_sum(value, order, scale, starts[u], starts[u + 1], j, block)
                    if adjusts:
                        p, g = adjust(p, g, numbers)
                    p, lanes = step(p, lanes, g, simd.mul(g, g), numbers)
                    simd.store(param, row, j, p)
                    write(states, row, j, lanes)
                u += listed

    return kernel


def _row_step(step, width, count, has_row_state, adjusts, run_sum):
    """A row-wise step: once over the row for the squares, once to update it. Takes and returns the row's number.

    The sum of a run's rows, which ``run_sum`` takes, stays in ``sums`` between the two.
    """
    read, write, _ = states_of(count, width)
    *_, spread = row_state_of(count, has_row_state)

    @jitable(inline=True)
    def gradient(param, sums, row, j, numbers):
        p, g = simd.load(param, row, j, width), simd.load(sums, 0, j, width)
        return adjust(p, g, numbers) if adjusts else (p, g)

    @jitable(inline=True, nrt=False)
    def update(param, states, row, number, value, order, scale, start, stop, block, numbers, sums):
        columns, total, after = param.shape[1], simd.widen(simd.full(param, width, 0)), number
        for j in range(0, columns, width):
            simd.store(sums, 0, j, run_sum(value, order, scale, start, stop, j, block))
            _, g = gradient(param, sums, row, j, numbers)
            total = simd.add(total, simd.widen(simd.mul(g, g)))
        mean = simd.lane(simd.reduce(simd.add, total), 0) / columns
        for j in range(0, columns, width):
            p, g = gradient(param, sums, row, j, numbers)
            p, lanes = step(p, read(states, row, j) + spread(p, number), g, simd.like(p, mean), numbers)
            simd.store(param, row, j, p)
            write(states, row, j, lanes)
            if has_row_state:
                after = np.float64(simd.lane(lanes[count], 0))
        return after

    return update


@jitable
def _row_like(param, numbers):
    """A row of the parameter's width, in the type that it computes in."""
    return np.empty((1, param.shape[1]), numbers.dtype)


@functools.cache
def rowwise_kernel(step, width, count, has_row_state, merge, adjusts=False, weighted=False, second_distance=0):
    """Make the kernel of a row-wise update by runs of gradient rows.

    With ``has_row_state`` the last state has one number per row.
    """
    update = _row_step(step, width, count, has_row_state, adjusts, run_sum_of(width, weighted))
    fetch = fetch_of(count, width, 1, second_distance)
    load, store, fetch_number, _ = row_state_of(count, has_row_state)

    @parallel_kernel
    def kernel(param, states, at, order, starts, value, scale, applied_step, numbers, chunk, block):
        at, order, starts = _sorted_runs(at, order, starts)
        for c in prange((len(order) + chunk - 1) // chunk):
            sums = _row_like(param, numbers)
            for u in range(lower_bound(starts, c * chunk), min(len(at), lower_bound(starts, (c + 1) * chunk))):
                row, start, stop = at[u], starts[u], starts[u + 1]
                for j in range(0, param.shape[1], width):
                    fetch(param, states, at, u, value, order, start, j)
                fetch_number(states, at[min(u + ROWS_AHEAD, len(at) - 1)])
                number = load(states, row)
                if merge:
                    number = update(param, states, row, number, value, order, scale, start, stop, block, numbers, sums)
                else:
                    for i in range(start, stop):
                        number = update(param, states, row, number, value, order, scale, i, i + 1, block, numbers, sums)
                store(states, row, number)

    return kernel


@functools.cache
def _no_row_of(width):
    """The row of a gradient that lists none, in place of the sum of a run's rows."""

    @jitable(inline=True)
    def row(value, order, scale, start, stop, j, block):
        return simd.full(value, width, 0)

    return row


@functools.cache
def rowwise_spread_kernel(step, width, count, has_row_state, adjusts=False):
    """Kernel of a row-wise update of all rows by the runs of those that a gradient lists, in order.

    Its arguments are those of ``rowwise_kernel``. Rows that are not listed have gradient 0, and a loop without runs,
    which takes 0.53 to 0.96 of the time of empty ones; a dense gradient would take 1.1 to 2 times as long (znver3).
    """
    update, idle = (_row_step(step, width, count, has_row_state, adjusts, f(width)) for f in (run_sum_of, _no_row_of))
    load, store, _, _ = row_state_of(count, has_row_state)

    @parallel_kernel
    def kernel(param, states, at, order, starts, value, scale, applied_step, numbers, chunk, block):
        at, order, starts = _sorted_runs(at, order, starts)
        for c in prange((len(param) + chunk - 1) // chunk):
            sums, u = _row_like(param, numbers), lower_bound(at, c * chunk)
            for row in range(c * chunk, min(len(param), (c + 1) * chunk)):
                number = load(states, row)
                if u < len(at) and at[u] == row:
                    start, stop = starts[u], starts[u + 1]
                    number = update(param, states, row, number, value, order, scale, start, stop, block, numbers, sums)
                    u += 1
                else:
                    number = idle(param, states, row, number, value, order, scale, 0, 0, block, numbers, sums)
                store(states, row, number)

    return kernel


@functools.cache
def _row_of(width):
    """The row of a dense gradient, in place of the sum of a run's rows: to its bits."""

    @jitable(inline=True)
    def row(value, order, scale, start, stop, j, block):
        # The sum turns -0.0 into 0.0.
        return simd.add(simd.full(value, width, 0), simd.load(value, start, j, width))

    return row


@functools.cache
def rowwise_dense_kernel(step, width, count, has_row_state, adjusts=False):
    """Make the kernel of a row-wise update by a dense gradient."""
    update = _row_step(step, width, count, has_row_state, adjusts, _row_of(width))
    load, store, _, _ = row_state_of(count, has_row_state)

    @parallel_kernel
    def kernel(param, states, grad, applied_step, numbers, chunk):
        for c in prange((len(param) + chunk - 1) // chunk):
            sums = _row_like(param, numbers)
            for row in range(c * chunk, min(len(param), (c + 1) * chunk)):
                number = load(states, row)
                number = update(param, states, row, number, grad, row, grad, row, row + 1, 1, numbers, sums)
                store(states, row, number)

    return kernel


def _strip(step, width, count, state_width, adjusts, records_step):
    read, write, _ = states_of(count, width, state_width)

    @jitable(inline=True)
    def update(param, states, grad, applied_step, j, numbers):
        before, g = simd.load(param, 0, j, width), simd.load(grad, 0, j, width)
        p, g = adjust(before, g, numbers) if adjusts else (before, g)
        p, lanes = step(p, read(states, 0, j), g, simd.mul(g, g), numbers)
        simd.store(param, 0, j, p)
        write(states, 0, j, lanes)
        if records_step:
            simd.store(applied_step, 0, j, simd.sub(before, p))

    return update


@functools.cache
def dense_kernel(step, count, state_width, adjusts=False, records_step=False):
    """Kernel of a dense update; arrays are ``(1, elements)``."""
    many, one = (_strip(step, width, count, state_width, adjusts, records_step) for width in (LANES, 1))

    @parallel_kernel
    def kernel(param, states, grad, applied_step, numbers, chunk):
        size = param.shape[1]
        for c in prange((size + chunk - 1) // chunk):
            start, stop = c * chunk, min(size, (c + 1) * chunk)
            whole = stop - (stop - start) % LANES
            for j in range(start, whole, LANES):
                many(param, states, grad, applied_step, j, numbers)
            for j in range(whole, stop):
                one(param, states, grad, applied_step, j, numbers)

    return kernel
