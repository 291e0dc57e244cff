"""CUDA kernels of lodkit/ops/beam_search.py. Candidates are positions among the scores of all prefixes."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import device, elementwise, iota, launch, vector
from ...jit import simd
from .lengths import top_k_kernel
from .primitives.scan import WARP_BITS


def _order(last):
    """Make ``comes_first(values, a, b)`` of positions: larger scores first, NaN last; -1 is none.

    Of equal scores the last comes first, or the first.
    """

    @device
    def comes_first(values, a, b):
        if a < 0 or b < 0:
            return a >= 0
        x, y = vector.number(values, a), vector.number(values, b)
        if x == y or (x != x and y != y):
            return (a > b) == last
        return x > y or y != y

    return comes_first


last_wins, first_wins = _order(True), _order(False)


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
    """What is known of prefixes: ids and scores before, the scores of candidates, and the positions of the best."""
    if not is_accumulated and scores.size:
        scores = _add_logarithms.into(scores.like(scores.shape), pre_scores, scores, scores.columns)
    return pre_ids, pre_scores, scores, _best_positions(scores, min(beam_size, scores.columns), last_wins)


@elementwise
def _classes(r, scores, columns, positions, ids, best):
    at = vector.number(positions, r)
    ids[r] = at - r * columns
    vector.store(best, r, vector.load(scores, at, 1))


def best_classes(scores, ids, best):
    """Put the best class of each row, and its score, into ``ids`` and ``best``."""
    _classes(len(scores), scores, scores.columns, _best_positions(scores, 1, first_wins), ids, best)
