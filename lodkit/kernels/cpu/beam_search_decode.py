"""CPU kernels of lodkit/ops/beam_search_decode.py."""

from __future__ import annotations

import numpy as np

from ...jit import jitable, parallel_kernel, prange
from .primitives.gradient_kernels import plain


@jitable(nrt=False)
def _words(words, parents, row, end_id):
    """Words of a hypothesis: the last, and all before that are no end."""
    count, row = 1, parents[row]
    while row >= 0:
        count, row = count + (words[row] != end_id), parents[row]
    return count


@parallel_kernel
def _rank(words, totals, parents, lasts, offsets, end_id, ranked, lengths):
    """Order the hypotheses of each source: larger last scores first, equal ones as they come, NaN last."""
    for s in prange(len(offsets) - 1):
        for h in range(offsets[s], offsets[s + 1]):
            x, at = totals[lasts[h]], offsets[s]
            for other in range(offsets[s], offsets[s + 1]):
                y = totals[lasts[other]]
                at += y > x or (x != x and y == y) or (other < h and (x == y or (x != x and y != y)))
            ranked[at] = lasts[h]
            lengths[at] = _words(words, parents, lasts[h], end_id)


def rank(words, totals, parents, lasts, offsets, end_id):
    """The last row of each hypothesis in the order of scores, and the number of its words."""
    ranked, lengths = np.empty((2, len(lasts)), np.int64)
    _rank(len(parents), words, plain(totals), parents, lasts, offsets, end_id, ranked, lengths)
    return ranked, lengths


@parallel_kernel
def _walk(words, parents, ranked, ends, end_id, rows):
    for h in prange(len(ranked)):
        at, row = ends[h + 1] - 1, ranked[h]
        rows[at], row = row, parents[row]
        while row >= 0:
            if words[row] != end_id:
                at -= 1
                rows[at] = row
            row = parents[row]


def walk(words, parents, ranked, ends, end_id, rows):
    """The rows of the words of all hypotheses, from each one's last backwards."""
    _walk(len(parents), words, parents, ranked, ends, end_id, rows)
