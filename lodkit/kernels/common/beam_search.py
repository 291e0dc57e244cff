"""Kernels of lodkit/ops/beam_search.py: the best of every prefix, those that a source takes of them, and their list."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...jit import jitable
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.beam_search import check_classes, prepare
from ...registry import Dense
from .loops import loop_elements, number_elements

INT64 = np.dtype(np.int64)


@loop_elements(writes=1)
def _take(s, pre_ids, pre_scores, scores, best, k, end_id, offsets, beam_size, taken):
    """The number of candidates that a source takes from its prefixes; none where all of these have ended.

    Of equal scores the last is taken first, NaN last.
    """
    start, stop = offsets[s], offsets[s + 1]
    for r in range(start, stop):
        taken[r] = 0
    live, left = False, beam_size
    while left > 0 and start < stop:
        chosen, most = np.int64(-1), pre_scores[start]
        for r in range(start, stop):
            x, ended = pre_scores[r], pre_ids[r] == end_id
            if taken[r] < (1 if ended else k):
                if not ended:
                    x = scores[best[r * k + taken[r]]]
                if chosen < 0 or x >= most or most != most:
                    chosen, most = np.int64(r), x
        left = left - 1 if chosen >= 0 else 0
        if chosen >= 0:
            taken[chosen] += 1
            live = live or pre_ids[chosen] != end_id
    if not live:
        for r in range(start, stop):
            taken[r] = 0


@jitable
def _are_equal(x, y):
    return x == y or (x != x and y != y)


@loop_elements(writes=3)
def _list_choices(
    r, pre_ids, pre_scores, scores, columns, best, k, end_id, choices, given, ends, words, totals, parents
):
    """Ids, scores and prefix of what was taken from a prefix: of equal scores the first candidate comes first."""
    start, count = ends[r], ends[r + 1] - ends[r]
    for j in range(count):
        at = start
        if pre_ids[r] == end_id:
            words[at] = end_id
            totals[at] = pre_scores[r]
        else:
            place, first, last = best[r * k + j], j, j
            x = scores[place]
            while first > 0 and _are_equal(scores[best[r * k + first - 1]], x):
                first -= 1
            while last + 1 < count and _are_equal(scores[best[r * k + last + 1]], x):
                last += 1
            at = start + first + last - j
            words[at] = choices[place] if given else place - r * columns
            totals[at] = x
        parents[at] = r


@number_elements
def _lengths_to_end(s, ids, offsets, end_id):
    """Rows of a segment up to its first ``end_id``."""
    start = i = offsets[s]
    while i < offsets[s + 1] and (i == start or ids[i - 1] != end_id):
        i += 1
    return i - start


@ops.beam_search.kernel("cpu", "cuda")
def beam_search(
    on,
    pre_ids: Dense | LoDTensor,
    pre_scores: Dense | LoDTensor,
    ids: Dense | LoDTensor | None,
    scores: LoDTensor,
    /,
    *,
    level,
    beam_size,
    end_id,
    is_accumulated,
):
    before, totals, choices, offsets = prepare(on, pre_ids, pre_scores, ids, scores, level, beam_size)
    like, dtype, item = scores.values, native(scores.dtype), pre_ids.shape[1:]
    n, ends = 0, offsets[:1]
    if len(before):
        before, totals, steps, best = on.beam_search.prefixes(before, totals, like, end_id, beam_size, is_accumulated)
        rows, columns = steps.shape
        known = before, totals, steps.reshape(steps.size)
        best, k = best.reshape(best.size), best.shape[1]
        taken = on.output((rows,), INT64, None, like)
        sources = on.send_offsets(like, offsets)
        _take(on)(len(offsets) - 1, *known, best, k, end_id, sources, beam_size, taken, work=8 * k)
        ends = lengths_to_offsets(on.read(taken))
        n = int(ends[-1])
    words, parents = on.output((n,), INT64, None, like), on.output((n,), INT64, None, like)
    kind = np.dtype(np.float32) if dtype == np.float16 else dtype
    found = on.output((n,), kind, None, like)
    if n:
        given = before if choices is None else choices.reshape(choices.size)
        candidates = columns, best, k, end_id, given, int(choices is not None), on.send(like, ends)
        _list_choices(on)(rows, *known, *candidates, words, found, parents, work=k)
    best = found if kind is dtype else on.convert(found, dtype)
    levels = *scores._lod[: scores._level(level)], offsets, freeze(ends)
    return LoDTensor._wrap(words.reshape(n, *item), levels), LoDTensor._wrap(best.reshape(n, *item), levels), parents


@ops.greedy_decode.kernel("cpu", "cuda")
def greedy_decode(on, scores: LoDTensor, /, *, end_id):
    check_classes(scores.values)
    offsets, levels, like = scores._row_offsets(), scores._lod, scores.values
    ids = on.output((len(like),), INT64, None, like)
    best = on.output((len(like),), native(like.dtype), None, like)
    if len(like):
        on.beam_search.best_classes(like, ids, best)
    if end_id is not None and len(like):
        kept = _lengths_to_end(on)(like, len(offsets) - 1, ids, on.send_offsets(like, offsets), end_id)
        ends = lengths_to_offsets(on.read(kept))
        rows = np.repeat(offsets[:-1] - ends[:-1], np.diff(ends)) + np.arange(ends[-1])
        rows, levels = on.send(like, rows), (*levels[:-1], freeze(ends))
        ids, best = on.take(ids, rows), on.take(best, rows)
    return LoDTensor._wrap(ids, levels), LoDTensor._wrap(best, levels)
