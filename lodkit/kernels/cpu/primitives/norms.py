"""Norms of arrays, without arrays of their squares."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import matrix, upcast
from ....jit import jitable, parallel_kernel, prange, simd
from ...common.optimizer_steps import adjust
from .update import rule_numbers
from .update_states import LANES, states_of

# A fixed number of elements: the same bits however the rest is tuned.
CHUNK = 1 << 14


@jitable(inline=True)
def _add_squares(total, lanes):
    lanes = simd.widen(lanes)
    return simd.fma(lanes, lanes, total)


@parallel_kernel
def _squares(x, out):
    size = x.shape[1]
    for c in prange(len(out)):
        stop, total = min(size, (c + 1) * CHUNK), simd.widen(simd.full(x, LANES, 0))
        for j in range(c * CHUNK, stop, LANES):
            total = _add_squares(total, simd.load_first(x, 0, j, LANES, stop - j, 0))
        out[c] = simd.lane(simd.reduce(simd.add, total), 0)


def squared_norm(x):
    """The sum of all squares, in double precision."""
    flat = matrix(np.ascontiguousarray(x).reshape(1, -1))
    out = np.empty(-(-flat.size // CHUNK))
    _squares(flat.size, flat, out)
    return float(out.sum())


def _squares_of(step, width, count, adjusts):
    """Sums of squares of ``width`` numbers at a time, before and after a step, from ``start`` to ``stop``."""
    read, _, _ = states_of(count, width)

    @jitable
    def squares(param, states, grad, numbers, start, stop):
        before = after = simd.widen(simd.full(param, width, 0))
        for j in range(start, stop, width):
            p, g = simd.load(param, 0, j, width), simd.load(grad, 0, j, width)
            before = _add_squares(before, p)
            p, g = adjust(p, g, numbers) if adjusts else (p, g)
            after = _add_squares(after, step(p, read(states, 0, j), g, simd.mul(g, g), numbers)[0])
        return simd.lane(simd.reduce(simd.add, before), 0), simd.lane(simd.reduce(simd.add, after), 0)

    return squares


@functools.cache
def _stepped_squares(step, count, adjusts):
    many, one = (_squares_of(step, width, count, adjusts) for width in (LANES, 1))

    @parallel_kernel
    def kernel(param, states, grad, numbers, out):
        for c in prange(len(out)):
            start, stop = c * CHUNK, min(param.shape[1], (c + 1) * CHUNK)
            whole = stop - (stop - start) % LANES
            before, after = many(param, states, grad, numbers, start, whole)
            rest = one(param, states, grad, numbers, whole, stop)
            out[c, 0], out[c, 1] = before + rest[0], after + rest[1]

    return kernel


def stepped_loops(rule, param, states, grad):
    """The loop of ``stepped_norms``, and its lanes."""
    return [(_stepped_squares(rule.step, len(states), bool(rule.adjust)), LANES)]


def stepped_norms(rule, param, states, grad):
    """The squared norms of a parameter and of what a rule makes of it; nothing is written.

    Half the time of a step into a copy, whose norm is taken then.
    """
    p, *states, g = (upcast(np.ascontiguousarray(x)).reshape(1, -1) for x in (param, *states, grad))
    out = np.empty((-(-p.size // CHUNK), 2))
    ((kernel, _),) = stepped_loops(rule, p, states, g)
    kernel(p.size, p, tuple(states), g.astype(p.dtype, copy=False), rule_numbers(rule, p.dtype), out)
    return tuple(map(float, out.sum(axis=0)))
