"""CUDA kernels of lodkit/ops/beam_search_decode.py: a thread takes a hypothesis."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import elementwise, vector
from .primitives.offsets import offsets_like
from .primitives.row_kernels import segment_of


@elementwise
def _rank(h, words, totals, parents, lasts, offsets, sources, end_id, ranked, lengths):
    """Place a hypothesis in its source: larger last scores first, equal ones as they come, NaN last."""
    s = segment_of(offsets, sources, h)
    row = vector.number(lasts, h)
    x, at, count = vector.number(totals, row), vector.number(offsets, s), 1
    for other in range(vector.number(offsets, s), vector.number(offsets, s + 1)):
        y = vector.number(totals, vector.number(lasts, other))
        if y > x or (x != x and y == y) or (other < h and (x == y or (x != x and y != y))):
            at += 1
    ranked[at] = row
    row = vector.number(parents, row)
    while row >= 0:
        count += 1 if vector.number(words, row) != end_id else 0
        row = vector.number(parents, row)
    lengths[at] = count


def rank(words, totals, parents, lasts, offsets, end_id):
    """The last row of each hypothesis in the order of scores, and the number of its words."""
    sent = offsets_like(words, offsets)
    ranked, lengths = (words.like((len(lasts),), np.int64) for _ in range(2))
    _rank(len(lasts), words, totals, parents, lasts, sent.offsets, len(sent), end_id, ranked, lengths)
    return ranked, lengths


@elementwise
def _walk(h, words, parents, ranked, ends, end_id, rows):
    at, row = vector.number(ends, h + 1) - 1, vector.number(ranked, h)
    rows[at] = row
    row = vector.number(parents, row)
    while row >= 0:
        if vector.number(words, row) != end_id:
            at -= 1
            rows[at] = row
        row = vector.number(parents, row)


def walk(words, parents, ranked, ends, end_id, rows):
    """The rows of the words of all hypotheses, from each one's last backwards."""
    _walk(len(ranked), words, parents, ranked, ends, end_id, rows)
