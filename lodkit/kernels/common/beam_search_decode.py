"""Kernels of lodkit/ops/beam_search_decode.py: hypotheses in the order of scores, then the rows of their words."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.beam_search_decode import prepare_decode
from .loops import loop_elements, loop_rows


@loop_rows(writes=2)
def _rank(h, s, offsets, words, totals, parents, lasts, end_id, ranked, lengths):
    """Place a hypothesis in its source, larger last scores first, equal ones as they come, NaN last; count its words.

    These are the last, and all before it that are no end.
    """
    row = lasts[h]
    x, at, count = totals[row], offsets[s], 1
    for other in range(offsets[s], offsets[s + 1]):
        y = totals[lasts[other]]
        if y > x or (x != x and y == y) or (other < h and (x == y or (x != x and y != y))):
            at += 1
    ranked[at] = row
    row = parents[row]
    while row >= 0:
        count += 1 if words[row] != end_id else 0
        row = parents[row]
    lengths[at] = count


@loop_elements(writes=1)
def _list_rows(h, words, parents, ranked, ends, end_id, rows):
    """The rows of the words of a hypothesis, from its last backwards."""
    at, row = ends[h + 1] - 1, ranked[h]
    rows[at] = row
    row = parents[row]
    while row >= 0:
        if words[row] != end_id:
            at -= 1
            rows[at] = row
        row = parents[row]


@ops.beam_search_decode.kernel("cpu", "cuda")
def beam_search_decode(on, *steps: LoDTensor, beam_size, end_id):
    ids, scores, walks = prepare_decode(steps, beam_size)
    words = on.join_rows([on.convert(x.values, np.dtype(np.int64)).reshape(-1) for x in ids])
    totals = on.join_rows([on.convert(x.values, native(x.dtype)).reshape(-1) for x in scores])
    ends, rows = np.zeros(1, np.int64), on.zeros((0,), words.dtype, words)
    if len(walks.lasts):
        parents, lasts = on.send(words, walks.parents), on.send(words, walks.lasts)
        count = len(walks.lasts)
        steps = -(-len(parents) // count)
        ranked, lengths = (on.output((count,), words.dtype, None, words) for _ in range(2))
        known = words, on.upcast(totals), parents, lasts, end_id
        _rank(on)(count, walks.offsets, *known, ranked, lengths, work=steps)
        ends = lengths_to_offsets(on.read(lengths))
        rows = on.output((int(ends[-1]),), words.dtype, None, words)
        _list_rows(on)(count, words, parents, ranked, on.send(words, ends), end_id, rows, work=steps)
    levels = *ids[0]._lod[:-2], freeze(walks.offsets), freeze(ends)
    return tuple(LoDTensor._wrap(on.take(values, rows), levels) for values in (words, totals))
