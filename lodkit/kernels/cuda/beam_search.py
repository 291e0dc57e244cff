"""CUDA kernels of lodkit/ops/beam_search.py. Candidates are positions among the scores of all prefixes."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import device, elementwise, iota, launch, vector
from ...jit import simd
from .lengths import top_k_kernel
from .primitives.offsets import offsets_like
from .primitives.scan import WARP_BITS


@device
def last_wins(values, a, b):
    """True if position a comes before b: larger scores, of equal ones the later; NaN last. None is -1."""
    if a < 0 or b < 0:
        return a >= 0
    x, y = vector.number(values, a), vector.number(values, b)
    if x == y or (x != x and y != y):
        return a > b
    return x > y or y != y


@device
def first_wins(values, a, b):
    """The same, but of equal scores the first comes first."""
    if a < 0 or b < 0:
        return a >= 0
    x, y = vector.number(values, a), vector.number(values, b)
    if x == y or (x != x and y != y):
        return a < b
    return x > y or y != y


def _best_positions(scores, k, before):
    """Positions of the k best of each row."""
    rows, columns = scores.shape
    best = scores.like((rows, k), np.int64)
    if best.size:
        ends = iota(scores, rows + 1, columns)
        launch(top_k_kernel(False, before), rows << WARP_BITS, scores, ends, ends, rows, 1, k, best)
    return best


@elementwise
def _add_logarithms(i, before, scores, columns, out):
    vector.store(out, i, simd.add(vector.load(before, i // columns, 1), simd.log(vector.load(scores, i, 1))))


def prefixes(pre_ids, pre_scores, scores, end_id, beam_size, is_accumulated):
    """What is known of prefixes: the ids and scores before, the scores of candidates, the best of them, and the end."""
    if not is_accumulated and scores.size:
        scores = _add_logarithms.into(scores.like(scores.shape), pre_scores, scores, scores.columns)
    return pre_ids, pre_scores, scores, _best_positions(scores, min(beam_size, scores.columns), last_wins), end_id


@elementwise
def _take(s, pre_ids, pre_scores, scores, best, k, end_id, offsets, beam_size, taken):
    """The number of candidates that a source takes from its prefixes; none where all of these have ended."""
    start, stop = vector.number(offsets, s), vector.number(offsets, s + 1)
    for r in range(start, stop):
        taken[r] = 0
    live, left = False, beam_size
    while left > 0 and start < stop:
        chosen, most = np.int64(-1), vector.number(pre_scores, start)
        for r in range(start, stop):
            x, ended = vector.number(pre_scores, r), vector.number(pre_ids, r) == end_id
            if taken[r] < (1 if ended else k):
                if not ended:
                    x = vector.number(scores, vector.number(best, r * k + taken[r]))
                if chosen < 0 or x >= most or most != most:
                    chosen, most = np.int64(r), x
        left = left - 1 if chosen >= 0 else 0
        if chosen >= 0:
            taken[chosen] += 1
            live = live or vector.number(pre_ids, chosen) != end_id
    if not live:
        for r in range(start, stop):
            taken[r] = 0


def take(pre_ids, pre_scores, scores, best, end_id, offsets, beam_size):
    """The number of candidates that are taken from each prefix."""
    sent = offsets_like(scores, offsets)
    taken = scores.like((len(pre_ids),), np.int64)
    _take(len(sent), pre_ids, pre_scores, scores, best, best.columns, end_id, sent.offsets, beam_size, taken)
    return taken


@device
def _are_equal(x, y):
    return x == y or (x != x and y != y)


@elementwise
def _list(r, pre_ids, pre_scores, scores, columns, best, k, end_id, choices, given, ends, words, totals, parents):
    """Ids, scores and prefix of what was taken from a prefix: of equal scores the first candidate comes first."""
    start, count = vector.number(ends, r), vector.number(ends, r + 1) - vector.number(ends, r)
    for j in range(count):
        at = start
        if vector.number(pre_ids, r) == end_id:
            words[at] = end_id
            vector.store(totals, at, vector.load(pre_scores, r, 1))
        else:
            place, first, last = vector.number(best, r * k + j), j, j
            x = vector.number(scores, place)
            while first > 0 and _are_equal(vector.number(scores, vector.number(best, r * k + first - 1)), x):
                first -= 1
            while last + 1 < count and _are_equal(vector.number(scores, vector.number(best, r * k + last + 1)), x):
                last += 1
            at = start + first + last - j
            words[at] = vector.number(choices, place) if given else place - r * columns
            vector.store(totals, at, vector.load(scores, place, 1))
        parents[at] = r


def list_choices(pre_ids, pre_scores, scores, best, end_id, choices, ends, words, totals, parents):
    """Fill in ids, scores and prefixes of all that was taken."""
    given, sent = choices is not None, scores.send(ends)
    known = pre_ids, pre_scores, scores, scores.columns, best, best.columns, end_id
    _list(len(pre_ids), *known, choices if given else pre_ids, int(given), sent, words, totals, parents)


@elementwise
def _classes(r, scores, columns, positions, ids, best):
    at = vector.number(positions, r)
    ids[r] = at - r * columns
    vector.store(best, r, vector.load(scores, at, 1))


def best_classes(scores, ids, best):
    """Put the best class of each row, and its score, into ``ids`` and ``best``."""
    _classes(len(scores), scores, scores.columns, _best_positions(scores, 1, first_wins), ids, best)


@elementwise
def _cut(s, ids, offsets, end_id, lengths):
    start = i = vector.number(offsets, s)
    while i < vector.number(offsets, s + 1) and (i == start or vector.number(ids, i - 1) != end_id):
        i += 1
    lengths[s] = i - start


def lengths(ids, offsets, end_id):
    """Rows of each segment up to its first ``end_id``."""
    return _cut.into(ids.like((len(offsets) - 1,), np.int64), ids, offsets_like(ids, offsets).offsets, end_id)
