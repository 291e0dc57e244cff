"""Lookup of sequences by index: ``t[i]``, and slices.

A slice of two levels is ``<i>``; of one level, PIECE sequences from i. The query is the bounds of its j-th sequence,
the branch ``<i,j>``.
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
    """Find the rows of ``t[i]``."""

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
                first, end = start, stop
                start = summed(inner, 0, first)
                stop = start + summed(inner, first, end)
            out[q, 0], out[q, 1] = start, stop

    return kernel


@jitable
def _within(first, end, j):
    """Return the j-th sequence of a slice, at most its last; -1 if it is empty."""
    return min(first + j, end - 1) if first < end else -1


def _bounds(levels):
    @jitable
    def bounds(outer, i):
        if levels == 2:
            return outer[i], outer[i + 1]
        return i, min(i + PIECE, len(outer) - 1)

    return bounds


@functools.cache
def slice_rebased(levels):
    """Rewrite offsets of a slice to start at 0."""
    bounds = _bounds(levels)

    @njit
    def kernel(outer, inner, branches, made, out):
        at = 0
        for q in range(len(branches)):
            first, end = bounds(outer, branches[q, 0])
            base = inner[first]
            for s in range(first, end + 1):
                made[at + s - first] = inner[s] - base
            j = at + _within(0, end - first, branches[q, 1])
            out[q, 0], out[q, 1] = (base + made[j], base + made[j + 1]) if j >= at else (base, base)
            at += end - first + 1

    return kernel


@functools.cache
def slice_views(levels):
    """Keep offsets of the batch in a slice, ``10 12 15``, without writes."""
    bounds = _bounds(levels)

    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            first, end = bounds(outer, branches[q, 0])
            s = _within(first, end, branches[q, 1])
            out[q, 0], out[q, 1] = (inner[s], inner[s + 1]) if s >= 0 else (inner[first], inner[first])

    return kernel


@functools.cache
def slice_lengths(levels):
    """Sum lengths to locate a slice, whose lengths are a view."""

    @njit
    def kernel(outer, inner, branches, out):
        for q in range(len(branches)):
            first = branches[q, 0]
            end = min(first + PIECE, len(inner))
            if levels == 2:
                first = summed(outer, 0, branches[q, 0])
                end = first + outer[branches[q, 0]]
            s = _within(first, end, branches[q, 1])
            out[q, 0] = summed(inner, 0, max(s, first))
            out[q, 1] = out[q, 0] + (inner[s] if s >= 0 else 0)

    return kernel


@functools.cache
def cut_lengths(levels):
    """Take all slices in order, and the last sequence of each; each starts where the previous ends."""

    @njit
    def kernel(outer, inner, out):
        first = row = 0
        for q in range(len(out)):
            end = first + outer[q] if levels == 2 else min(first + PIECE, len(inner))
            out[q, 0] = out[q, 1] = row
            for s in range(first, end):
                out[q, 0] = row
                row += inner[s]
                out[q, 1] = row
            first = end

    return kernel
