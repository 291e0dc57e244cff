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
def _sort(scores, live, backwards, step, best):
    """The best candidates of rows, by insertion; of equal ones those that are met first, from either end.

    They are numbered from ``step`` times the row on.
    """
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
        for j in range(filled):
            found[j] += r * step


def prefixes(pre_ids, pre_scores, scores, end_id, beam_size, is_accumulated):
    """What is known of prefixes: ids and scores before, the scores of candidates, and the positions of the best."""
    # Private copy of the ids: another thread may write to them meanwhile.
    steps, before, pre_ids = plain(scores), plain(pre_scores), pre_ids.copy()
    if not is_accumulated:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = plain((before[:, None] + np.log(steps)).astype(native(scores.dtype), copy=False))
    rows, columns = steps.shape
    best = np.empty((rows, min(beam_size, columns)), np.int64)
    _sort(steps.size, steps, pre_ids != end_id, True, columns, best)
    return pre_ids, before, steps, best


def best_classes(scores, ids, best):
    """Put the best class of each row, and its score, into ``ids`` and ``best``."""
    _sort(scores.size, plain(scores), np.ones(len(ids), bool), False, 0, ids.reshape(-1, 1))
    best[...] = np.take_along_axis(scores, ids.reshape(-1, 1), 1).reshape(-1)
