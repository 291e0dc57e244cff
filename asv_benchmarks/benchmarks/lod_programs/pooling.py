"""One number per outermost sequence, independent of the others: the last row, the maximum.

A program is a body; a representation is a loop that passes it the start and stop of each sequence.
"""

from __future__ import annotations

import functools

import numpy as np

from lodkit.jit import jitable, njit, parallel_kernel, prange

BLOCK = 256  # sequences per GPU block, or per step of a thread


@jitable
def last(values, start, stop, i, out, index):
    if start < stop:
        out[i], index[i] = values[stop - 1], stop - 1
    else:
        out[i], index[i] = 0, -1


@jitable
def largest(values, start, stop, i, out, index):
    best, at = np.float32(0), -1
    for row in range(start, stop):
        if at < 0 or values[row] > best:
            best, at = values[row], row
    out[i], index[i] = best, at


@njit
def scan(lengths, offsets):
    """Convert lengths to offsets."""
    offsets[0] = 0
    for i in range(len(lengths)):
        offsets[i + 1] = offsets[i] + lengths[i]


@functools.cache
def by_offsets(body, levels):
    @parallel_kernel
    def kernel(outer, inner, values, out, index):
        for block in prange(-(-(len(outer) - 1) // BLOCK)):
            for i in range(block * BLOCK, min((block + 1) * BLOCK, len(outer) - 1)):
                start, stop = outer[i], outer[i + 1]
                if levels == 2:
                    start, stop = inner[start], inner[stop]
                body(values, start, stop, i, out, index)

    return kernel


def _in_order(body, levels):
    """Pool sequences ``begin`` to ``end`` by lengths; the first starts at ``row`` and inner sequence ``s``."""

    @jitable
    def pool(outer, inner, values, begin, end, s, row, out, index):
        for i in range(begin, end):
            start = row
            if levels == 1:
                row += outer[i]
            else:
                for j in range(s, s + outer[i]):
                    row += inner[j]
                s += outer[i]
            body(values, start, row, i, out, index)

    return pool


@functools.cache
def by_lengths(body, levels):
    """Pool with a running sum, as in the review."""
    pool = _in_order(body, levels)

    @njit
    def kernel(outer, inner, values, out, index):
        pool(outer, inner, values, 0, len(outer), 0, 0, out, index)

    return kernel


@functools.cache
def by_blocks(body, levels, size=BLOCK):
    """Pool in blocks of ``size`` sequences, each summing all previous lengths again."""
    pool = _in_order(body, levels)

    @parallel_kernel
    def kernel(outer, inner, values, out, index):
        for block in prange(-(-len(outer) // size)):
            begin, before = block * size, 0
            for i in range(begin):
                before += outer[i]
            row = before
            if levels == 2:
                row = 0
                for s in range(before):
                    row += inner[s]
            pool(outer, inner, values, begin, min(begin + size, len(outer)), before, row, out, index)

    return kernel
