"""Sequences in order, and the time steps of a recurrence."""

from __future__ import annotations

import functools

import numpy as np

from lodkit.jit import jitable, njit

DECAY = np.float32(0.5)


@jitable
def total(values, start, stop):
    result = np.float32(0)
    for row in range(start, stop):
        result += values[row]
    return result


@njit
def walk_offsets(outer, inner, values, out):
    """Sum each innermost sequence; a batch of one level is one outer sequence."""
    for i in range(len(outer) - 1):
        for s in range(outer[i], outer[i + 1]):
            out[s] = total(values, inner[s], inner[s + 1])


@njit
def walk_lengths(outer, inner, values, out):
    first = row = 0
    for i in range(len(outer)):
        for s in range(first, first + outer[i]):
            out[s] = total(values, row, row + inner[s])
            row += inner[s]
        first += outer[i]


@njit
def walk_absolute(outer, inner, values, out):
    """Sum with ``outer`` in rows: an outer sequence ends when its rows are used up."""
    s = row = stop = 0
    for i in range(len(outer)):
        stop += outer[i]
        while row < stop:
            out[s] = total(values, row, row + inner[s])
            row += inner[s]
            s += 1
    out[s:] = 0


@functools.cache
def step_offsets(levels):
    """Compute ``state[i] = state[i] / 2 + x`` with x the t-th row of i, or the sum of its t-th sequence."""

    @njit
    def kernel(outer, inner, values, steps, state):
        state[:] = 0
        for t in range(steps):
            for i in range(len(outer) - 1):
                start = outer[i] + t
                if start < outer[i + 1]:
                    stop = start + 1
                    if levels == 2:
                        start, stop = inner[start], inner[stop]
                    state[i] = DECAY * state[i] + total(values, start, stop)

    return kernel


@njit
def step_lengths(outer, inner, values, steps, state):
    """Step by lengths of one level: one addition per sequence and step."""
    state[:] = 0
    for t in range(steps):
        row = 0
        for i in range(len(outer)):
            if t < outer[i]:
                state[i] = DECAY * state[i] + total(values, row + t, row + t + 1)
            row += outer[i]


@njit
def step_nested_lengths(outer, inner, values, steps, state):
    """Step by lengths of two levels: all inner lengths are summed at every step."""
    state[:] = 0
    for t in range(steps):
        first = row = 0
        for i in range(len(outer)):
            for j in range(outer[i]):
                length = inner[first + j]
                if j == t:
                    state[i] = DECAY * state[i] + total(values, row, row + length)
                row += length
            first += outer[i]
