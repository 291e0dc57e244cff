"""Sequences found by number: ``t[i]``, and slices, which are batches of their own.

A slice of two levels is ``<i>``; of one level, PIECE sequences from i on. What is asked of it is where its j-th
sequence lies, so that ``<i>`` and j are the branch ``<i,j>``.
"""

from __future__ import annotations

import functools

from lodkit.jit import jitable, njit

from .batch import PIECE


@jitable
def summed(lengths, start, stop):
    result = 0
    for i in range(start, stop):
        result += lengths[i]
    return result


@functools.cache
def find_offsets(levels):
    """Rows of ``t[i]``."""

    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            start, stop = outer[branches[q, 0]], outer[branches[q, 0] + 1]
            if levels == 2:
                start, stop = inner[start], inner[stop]
            out[q, 0], out[q, 1] = start, stop

    return kernel


@functools.cache
def find_lengths(levels):
    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            i = branches[q, 0]
            start = summed(outer, 0, i)
            stop = start + outer[i]
            if levels == 2:
                first, behind = start, stop
                start = summed(inner, 0, first)
                stop = start + summed(inner, first, behind)
            out[q, 0], out[q, 1] = start, stop

    return kernel


@jitable
def _within(first, behind, j):
    """The j-th sequence of a slice, its last if there are not so many; -1 if there are none."""
    return min(first + j, behind - 1) if first < behind else -1


def _bounds(levels):
    @jitable
    def bounds(outer, i):
        if levels == 2:
            return outer[i], outer[i + 1]
        return i, min(i + PIECE, len(outer) - 1)

    return bounds


@functools.cache
def slice_rebased(levels):
    """Offsets of a slice start at 0: they are written anew."""
    bounds = _bounds(levels)

    @njit
    def kernel(outer, inner, branches, made, out):
        at = 0
        for q in range(len(branches)):
            first, behind = bounds(outer, branches[q, 0])
            base = inner[first]
            for s in range(first, behind + 1):
                made[at + s - first] = inner[s] - base
            j = at + _within(0, behind - first, branches[q, 1])
            out[q, 0], out[q, 1] = (base + made[j], base + made[j + 1]) if j >= at else (base, base)
            at += behind - first + 1

    return kernel


@functools.cache
def slice_views(levels):
    """Offsets of a slice stay those of the batch, ``10 12 15``: nothing is written."""
    bounds = _bounds(levels)

    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            first, behind = bounds(outer, branches[q, 0])
            s = _within(first, behind, branches[q, 1])
            out[q, 0], out[q, 1] = (inner[s], inner[s + 1]) if s >= 0 else (inner[first], inner[first])

    return kernel


@functools.cache
def slice_lengths(levels):
    """Lengths of a slice are a view too, of a place that has to be found."""

    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            first = branches[q, 0]
            behind = min(first + PIECE, len(inner))
            if levels == 2:
                first = summed(outer, 0, branches[q, 0])
                behind = first + outer[branches[q, 0]]
            s = _within(first, behind, branches[q, 1])
            out[q, 0] = summed(inner, 0, max(s, first))
            out[q, 1] = out[q, 0] + (inner[s] if s >= 0 else 0)

    return kernel


@functools.cache
def cut_lengths(levels):
    """All slices one after another, of each its last sequence: the place of the next one is where this one ends."""

    @njit
    def kernel(outer, inner, out):
        first = row = 0
        for q in range(len(out)):
            behind = first + outer[q] if levels == 2 else min(first + PIECE, len(inner))
            out[q, 0] = out[q, 1] = row
            for s in range(first, behind):
                out[q, 0] = row
                row += inner[s]
                out[q, 1] = row
            first = behind

    return kernel
