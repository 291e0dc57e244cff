"""CPU kernels of lodkit/ops/edit_distance.py: 64 rows of the table of distances at a time, as bits of a word.

Distances of neighbours differ by -1, 0 or 1, so that two bits say how a column goes on downwards, and a column follows
from the one before in a few operations on words (Myers, 1999; Hyyro, 2003). A block of 64 rows hands the differences
along its last row to the block below.
"""

from __future__ import annotations

import numpy as np

from ...jit import jitable, parallel_kernel, prange, segments_in, settings

# A token counts as this number of rows of other kernels, in chunks and when threads are chosen.
SHARE = 8
WORD = 64
GOLDEN, ONE, NONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1), np.uint64(0)


@jitable(nrt=False)
def _place(table, bits, tokens, start, token):
    """The place of a token in a hash table of positions: where it is, or would be put."""
    place = np.int64((np.uint64(token) * GOLDEN) >> np.uint64(64 - bits))
    while table[place] >= 0 and tokens[start + table[place]] != token:
        place = (place + 1) & ((1 << bits) - 1)
    return place


@jitable(nrt=False)
def _number(a, start, m, b, first, n, table, numbers, others):
    """Number each token of ``a`` and of ``b`` by its first position in ``a``, m where there is none."""
    bits = 2
    while 1 << bits < 2 * m:
        bits += 1
    table[: 1 << bits] = -1
    for i in range(m):
        place = _place(table, bits, a, start, a[start + i])
        if table[place] < 0:
            table[place] = i
        numbers[i] = table[place]
    for j in range(n):
        found = table[_place(table, bits, a, start, b[first + j])]
        others[j] = found if found >= 0 else m


@jitable(nrt=False)
def _block(numbers, first, last, others, n, masks, steps):
    """Take the rows ``first : last`` through all columns; ``steps``, the differences along a row, go a block down."""
    for i in range(first, last):
        masks[numbers[i]] |= ONE << np.uint64(i - first)
    up, down, bottom = ~NONE, NONE, np.uint64(last - first - 1)
    for j in range(n):
        more, less, equal = np.uint64(steps[j] > 0), np.uint64(steps[j] < 0), masks[others[j]]
        kept = equal | down
        equal |= less
        reached = (((equal & up) + up) ^ up) | equal
        longer, shorter = down | ~(reached | up), up & reached
        steps[j] = np.int64((longer >> bottom) & ONE) - np.int64((shorter >> bottom) & ONE)
        longer, shorter = (longer << ONE) | more, (shorter << ONE) | less
        up, down = shorter | ~(kept | longer), longer & kept
    for i in range(first, last):
        masks[numbers[i]] = NONE


@jitable(nrt=False)
def _distance(a, start, stop, b, first, last, table, numbers, others, masks, steps):
    """The distance of two runs of tokens, of which ``a`` is no longer; equal ends cost nothing."""
    while start < stop and a[start] == b[first]:
        start, first = start + 1, first + 1
    while start < stop and a[stop - 1] == b[last - 1]:
        stop, last = stop - 1, last - 1
    m, n = stop - start, last - first
    if m == 0:
        return n
    _number(a, start, m, b, first, n, table, numbers, others)
    steps[:n] = 1
    for row in range(0, m, WORD):
        _block(numbers, row, min(row + WORD, m), others, n, masks, steps)
    total = m
    for j in range(n):
        total += steps[j]
    return total


@jitable
def _scratch(a, b, begin, end):
    """Room for the pairs ``begin : end``: a hash table, numbers of tokens, masks of all zeros, and steps."""
    short = long = size = 1
    for s in range(begin, end):
        m, n = a[s + 1] - a[s], b[s + 1] - b[s]
        short, long = max(short, min(m, n)), max(long, max(m, n))
    while size < 2 * short:
        size *= 2
    numbers, others = np.empty(short, np.int64), np.empty(long, np.int64)
    return np.empty(max(size, 4), np.int64), numbers, others, np.zeros(short + 1, np.uint64), np.empty(long, np.int8)


@parallel_kernel
def _distances(hyp, hyps, ref, refs, normalized, chunk, out):
    for c in prange(refs[-1] // chunk + 1):
        found = segments_in(refs, chunk, c)
        table, numbers, others, masks, steps = _scratch(hyps, refs, found.start, found.stop)
        for s in found:
            a, b, x, y = hyps[s], hyps[s + 1], refs[s], refs[s + 1]
            if b - a <= y - x:
                edits = _distance(hyp, a, b, ref, x, y, table, numbers, others, masks, steps)
            else:
                edits = _distance(ref, x, y, hyp, a, b, table, numbers, others, masks, steps)
            out[s] = edits if edits == 0 or not normalized else edits / (y - x)


def distances(hyp, hyps, ref, refs, normalized, out):
    """Put the distance of each pair of sequences into ``out``."""
    # Uncompiled, words are added modulo 2**64.
    with np.errstate(over="ignore", divide="ignore"):
        chunk = max(1, settings.chunk_rows // SHARE)
        _distances(SHARE * (len(hyp) + len(ref)), hyp, hyps, ref, refs, normalized, chunk, out)
