"""CPU kernels of lodkit/ops/beam_search.py. Candidates are met in order, so that of equal ones a later one beats."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...jit import jitable, parallel_kernel, prange
from .primitives.gradient_kernels import plain


@jitable
def _beats(x, y):
    """True if a score beats one that was met before: the larger, of equal ones the later; NaN loses."""
    return x >= y or y != y


@parallel_kernel
def _sort(pre_ids, scores, end_id, best):
    """The best candidates of every prefix that has not ended, by insertion."""
    for r in prange(len(best)):
        row, found, filled = scores[r], best[r], 0
        if pre_ids[r] == end_id:
            continue
        for c in range(len(row) if len(found) else 0):
            if filled == len(found):
                if not _beats(row[c], row[found[filled - 1]]):
                    continue
                filled -= 1
            at = filled
            while at > 0 and _beats(row[c], row[found[at - 1]]):
                found[at] = found[at - 1]
                at -= 1
            found[at] = c
            filled += 1


def prefixes(pre_ids, pre_scores, scores, end_id, beam_size, is_accumulated):
    """What is known of prefixes: the ids and scores before, the scores of candidates, the best of them, and the end."""
    steps, before = plain(scores), plain(pre_scores)
    if not is_accumulated:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = plain((before[:, None] + np.log(steps)).astype(native(scores.dtype), copy=False))
    best = np.empty((len(steps), min(beam_size, steps.shape[1])), np.int64)
    _sort(steps.size, pre_ids, steps, end_id, best)
    return pre_ids, before, steps, best, end_id


@jitable
def _next(r, pre_ids, pre_scores, scores, best, end_id, taken):
    """The score of the best of a prefix behind those that were taken, and whether there is one."""
    if pre_ids[r] == end_id:
        return pre_scores[r], taken[r] < 1
    if taken[r] < best.shape[1]:
        return scores[r, best[r, taken[r]]], True
    return pre_scores[r], False


@parallel_kernel
def _take(pre_ids, pre_scores, scores, best, end_id, offsets, beam_size, taken):
    """The number of candidates that each source takes from its prefixes; none where all of these have ended."""
    for s in prange(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        taken[start:stop] = 0
        live, left = False, beam_size
        while left > 0:
            chosen, most = -1, pre_scores[start] if start < stop else pre_scores[0]
            for r in range(start, stop):
                x, there = _next(r, pre_ids, pre_scores, scores, best, end_id, taken)
                if there and (chosen < 0 or _beats(x, most)):
                    chosen, most = r, x
            left = left - 1 if chosen >= 0 else 0
            if chosen >= 0:
                taken[chosen] += 1
                live = live or pre_ids[chosen] != end_id
        if not live:
            taken[start:stop] = 0


def take(pre_ids, pre_scores, scores, best, end_id, offsets, beam_size):
    """The number of candidates that are taken from each prefix."""
    taken = np.empty(len(pre_ids), np.int64)
    _take(best.size * 8, pre_ids, pre_scores, scores, best, end_id, offsets, beam_size, taken)
    return taken


@jitable
def _equal(x, y):
    return x == y or (x != x and y != y)


@jitable
def _place(row, best, j, count):
    """Where the j-th best of a prefix is listed: of equal scores the first candidate comes first."""
    x, first, last = row[best[j]], j, j
    while first > 0 and _equal(row[best[first - 1]], x):
        first -= 1
    while last + 1 < count and _equal(row[best[last + 1]], x):
        last += 1
    return first + last - j


@parallel_kernel
def _list(pre_ids, pre_scores, scores, best, end_id, choices, given, ends, words, totals, parents):
    """Ids, scores and prefixes of all that was taken."""
    for r in prange(len(pre_ids)):
        count = ends[r + 1] - ends[r]
        for j in range(count):
            if pre_ids[r] == end_id:
                at, words[ends[r]], totals[ends[r]] = ends[r], end_id, pre_scores[r]
            else:
                c, at = best[r, j], ends[r] + _place(scores[r], best[r], j, count)
                words[at], totals[at] = choices[r, c] if given else c, scores[r, c]
            parents[at] = r


def listed(pre_ids, pre_scores, scores, best, end_id, choices, ends, words, totals, parents):
    """Fill in ids, scores and prefixes of all that was taken."""
    given, found = choices is not None, np.empty(len(words), scores.dtype)
    choices = choices if given else np.empty((0, 0), np.int64)
    _list(best.size, pre_ids, pre_scores, scores, best, end_id, choices, given, ends, words, found, parents)
    totals[...] = found


@parallel_kernel
def _best(scores, ids, best):
    """The first largest of each row; NaN loses."""
    for r in prange(len(ids)):
        row, top = scores[r], 0
        for c in range(1, len(row)):
            if row[c] > row[top] or (row[top] != row[top] and row[c] == row[c]):
                top = c
        ids[r], best[r] = top, row[top]


def best_classes(scores, ids, best):
    """Put the best class of each row, and its score, into ``ids`` and ``best``."""
    scores = plain(scores)
    totals = np.empty(len(scores), scores.dtype)
    _best(scores.size, scores, ids, totals)
    best[...] = totals


@parallel_kernel
def _cut(ids, offsets, end_id, lengths):
    for s in prange(len(lengths)):
        i = offsets[s]
        while i < offsets[s + 1] and (i == offsets[s] or ids[i - 1] != end_id):
            i += 1
        lengths[s] = i - offsets[s]


def lengths(ids, offsets, end_id):
    """Rows of each segment up to its first ``end_id``."""
    found = np.empty(len(offsets) - 1, np.int64)
    _cut(len(ids), ids, offsets, end_id, found)
    return found
