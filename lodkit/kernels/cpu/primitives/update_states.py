"""Functions that read, write and prefetch what an update of a row needs, made for the number of its states.

The functions of a width are kept: Numba compiles each but once for all rules.
"""

from __future__ import annotations

import functools

import numpy as np

from ....jit import jitable, simd
from ....jit.tuning import tuning

# Prefetching makes updates of rows outside the caches 2.5 times faster.
ROWS_AHEAD, SECOND_DISTANCE = tuning.update_rows_ahead, tuning.second_distance
LANES, LEVEL = 16, tuning.level
# With more rows, not all that an update reads stays in a cache of the second level.
ROWS_BEYOND_L2 = 4096


@functools.cache
def states_of(count, width, state_width=1):
    """Make functions that read, write and prefetch lanes of the states, with ``state_width`` numbers per lane."""
    if not count:
        none = jitable(inline=True)(lambda states, row, j: ())
        return none, jitable(inline=True)(lambda states, row, j, lanes: None), none
    k = count - 1
    read_others, write_others, fetch_others = states_of(k, width, state_width) if k else (None, None, None)
    lanes_each = state_width * width

    @jitable(inline=True)
    def read(states, row, j):
        last = (simd.load(states[k], row, state_width * j, lanes_each),)
        return read_others(states, row, j) + last if k else last

    @jitable(inline=True)
    def write(states, row, j, lanes):
        if k:
            write_others(states, row, j, lanes)
        simd.store(states[k], row, state_width * j, lanes[k])

    @jitable(inline=True)
    def fetch(states, row, j):
        if k:
            fetch_others(states, row, j)
        simd.prefetch_lanes(states[k], row, state_width * j, lanes_each, True, LEVEL)
        return ()

    return read, write, fetch


@functools.cache
def fetch_of(count, width, state_width, second_distance):
    """Make a function that prefetches lanes for updates of later rows: parameter, states and gradient."""
    *_, fetch_states = states_of(count, width, state_width)

    @jitable(inline=True)
    def fetch(param, states, at, u, value, order, i, j):
        row = at[min(u + ROWS_AHEAD, len(at) - 1)]
        simd.prefetch_lanes(param, row, j, width, True, LEVEL)
        simd.prefetch_lanes(value, order[min(i + ROWS_AHEAD, len(order) - 1)], j, width, True, LEVEL)
        if count:
            fetch_states(states, row, j)

    # The test of the number of rows alone took 0.03 of the time of 8 columns in the caches.
    if not second_distance or width < LANES:
        return fetch
    more = second_distance - ROWS_AHEAD

    @jitable(inline=True)
    def fetch_twice(param, states, at, u, value, order, i, j):
        fetch(param, states, at, u, value, order, i, j)
        if len(at) > ROWS_BEYOND_L2:
            fetch(param, states, at, u + more, value, order, i + more, j)

    return fetch_twice


@functools.cache
def row_state_of(k, has_row_state):
    """Make functions that read, write and prefetch the one number of a row in the k-th state, and give it to a step.

    They do nothing without ``has_row_state``.
    """

    @jitable(inline=True)
    def read(states, row):
        return np.float64(states[k][row, 0]) if has_row_state else 0.0

    @jitable(inline=True)
    def write(states, row, number):
        if has_row_state:
            states[k][row, 0] = number

    @jitable(inline=True)
    def fetch(states, row):
        if has_row_state:
            simd.prefetch_lanes(states[k], row, 0, 1, False, LEVEL)

    @jitable(inline=True)
    def spread(p, number):
        return (simd.like(p, number),) if has_row_state else ()

    return read, write, fetch, spread
