"""CPU kernels of lodkit/ops/beam_search.py. Of equal candidates the first met wins: they are met from the last on."""

from __future__ import annotations

import numpy as np

from ...arrays import native
from ...jit import jitable, parallel_kernel, prange, simd
from .primitives.gradient_kernels import plain

LANES = 16


@jitable
def _beats(x, y):
    """True if a score beats one that was met before: it is larger, or that is NaN."""
    return x > y or (y != y and x == x)


@jitable(nrt=False)
def _skip(scores, r, met, least, backwards):
    """Pass over blocks of candidates of which none beats the least that was kept."""
    n = scores.shape[1]
    while met + LANES <= n:
        lanes = simd.load(scores, r, n - met - LANES if backwards else met, LANES)
        # A NaN would hide the lanes that it is compared with.
        lanes = simd.larger(simd.like(lanes, -np.inf), lanes)
        if not simd.lane(simd.reduce(simd.larger, lanes), 0) <= least:
            break
        met += LANES
    return met


@parallel_kernel
def _sort(scores, live, backwards, best):
    """The best candidates of rows, by insertion; of equal ones those that are met first, from either end."""
    n, k = scores.shape[1], best.shape[1]
    for r in prange(len(best)):
        row, found, filled, met = scores[r], best[r], 0, 0 if live[r] and k else n
        while met < n:
            at, c = min(filled, k - 1), n - 1 - met if backwards else met
            if filled < k or _beats(row[c], row[found[at]]):
                while at > 0 and _beats(row[c], row[found[at - 1]]):
                    found[at] = found[at - 1]
                    at -= 1
                found[at] = c
                filled = min(filled + 1, k)
            met += 1
            if filled == k:
                met = _skip(scores, r, met, row[found[k - 1]], backwards)


def prefixes(pre_ids, pre_scores, scores, end_id, beam_size, is_accumulated):
    """What is known of prefixes: the ids and scores before, the scores of candidates, the best of them, and the end."""
    # Private copy of the ids: another thread may write to them meanwhile.
    steps, before, pre_ids = plain(scores), plain(pre_scores), pre_ids.copy()
    if not is_accumulated:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = plain((before[:, None] + np.log(steps)).astype(native(scores.dtype), copy=False))
    best = np.empty((len(steps), min(beam_size, steps.shape[1])), np.int64)
    _sort(steps.size, steps, pre_ids != end_id, True, best)
    return pre_ids, before, steps, best, end_id


@jitable(nrt=False)
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
            for r in range(stop - 1, start - 1, -1):
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
def _are_equal(x, y):
    return x == y or (x != x and y != y)


@jitable(nrt=False)
def _place(row, best, j, count):
    """Where the j-th best of a prefix is listed: of equal scores the first candidate comes first."""
    x, first, last = row[best[j]], j, j
    while first > 0 and _are_equal(row[best[first - 1]], x):
        first -= 1
    while last + 1 < count and _are_equal(row[best[last + 1]], x):
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


def list_choices(pre_ids, pre_scores, scores, best, end_id, choices, ends, words, totals, parents):
    """Fill in ids, scores and prefixes of all that was taken."""
    given, found = choices is not None, np.empty(len(words), scores.dtype)
    choices = choices if given else np.empty((0, 0), np.int64)
    _list(best.size, pre_ids, pre_scores, scores, best, end_id, choices, given, ends, words, found, parents)
    totals[...] = found


def best_classes(scores, ids, best):
    """Put the best class of each row, and its score, into ``ids`` and ``best``."""
    _sort(scores.size, plain(scores), np.ones(len(ids), bool), False, ids.reshape(-1, 1))
    best[...] = np.take_along_axis(scores, ids.reshape(-1, 1), 1).reshape(-1)


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
