"""Kernels of lodkit/ops/beam_search.py: the best of every prefix, those that a source takes of them, and their list."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import native
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.beam_search import check_classes, prepare
from ...registry import Dense


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
    counts = np.zeros(len(before), np.int64)
    if len(before):
        prefixes = on.beam_search.prefixes(before, totals, scores.values, end_id, beam_size, is_accumulated)
        counts = on.read(on.beam_search.take(*prefixes, offsets, beam_size))
    ends = lengths_to_offsets(counts)
    n, item, dtype = int(ends[-1]), pre_ids.shape[1:], native(scores.dtype)
    words, parents = (on.output((n,), np.dtype(np.int64), None, scores.values) for _ in range(2))
    best = on.output((n,), dtype, None, scores.values)
    if n:
        on.beam_search.list_choices(*prefixes, choices, ends, words, best, parents)
    levels = *scores._lod[: scores._level(level)], offsets, freeze(ends)
    return LoDTensor._wrap(words.reshape(n, *item), levels), LoDTensor._wrap(best.reshape(n, *item), levels), parents


@ops.greedy_decode.kernel("cpu", "cuda")
def greedy_decode(on, scores: LoDTensor, /, *, end_id):
    check_classes(scores.values)
    offsets, levels, like = scores._row_offsets(), scores._lod, scores.values
    ids = on.output((len(like),), np.dtype(np.int64), None, like)
    best = on.output((len(like),), native(like.dtype), None, like)
    if len(like):
        on.beam_search.best_classes(like, ids, best)
    if end_id is not None and len(like):
        ends = lengths_to_offsets(on.read(on.beam_search.lengths(ids, offsets, end_id)))
        rows = np.repeat(offsets[:-1] - ends[:-1], np.diff(ends)) + np.arange(ends[-1])
        rows, levels = on.send(like, rows), (*levels[:-1], freeze(ends))
        ids, best = on.take(ids, rows), on.take(best, rows)
    return LoDTensor._wrap(ids, levels), LoDTensor._wrap(best, levels)
