"""Samples of lodkit/ops/beam_search.py."""

from __future__ import annotations

import numpy as np

from lodkit import LoDTensor

from ._make import array, ragged, reals, rng


def search(*levels, candidates=3, dtype=np.float64, item=(1,), given=True, ended=(), **attrs):
    """Make a step of a search over prefixes, of which some have ended."""
    scores = ragged(*levels, item=(candidates,), dtype=dtype)
    n = len(scores.values)
    pre_ids, pre_scores = rng.integers(1, 9, (n, *item)), array(n, *item, dtype=dtype)
    pre_ids[list(ended)] = 0
    ids = rng.integers(0, 9, (n, candidates)) if given else None
    return (pre_ids, pre_scores, ids, scores), {"beam_size": 2, "end_id": 0, **attrs}


def with_scores(case, scores, **attrs):
    (*inputs, like), given = case
    return (*inputs, like.with_values(np.array(scores, like.dtype).reshape(like.shape))), {**given, **attrs}


def whole(case):
    """The same with the structure of the scores on all inputs."""
    (*inputs, scores), attrs = case
    return (*(scores.with_values(x) for x in inputs), scores), attrs


nan, inf = np.nan, np.inf
TIES = with_scores(
    search([3, 2], [1] * 5, ended=[1]), [[1, 1, 1], [0, 0, 0], [2, 1, 1], [nan, nan, nan], [-inf, 3, nan]], beam_size=4
)
POSITIVE = search([2, 2], [1] * 4, given=False, is_accumulated=False, dtype=np.float32)
SEARCHES = [
    whole(search([2, 0, 3], [1] * 5, ended=[3])),
    search([1, 2], [2, 1, 3], item=(), beam_size=5, ended=[0, 1]),  # prefixes of several rows; a finished source
    search([2, 1], [2, 0, 1], [1] * 3, level=1, given=False, candidates=7),
    search([2, 3], dtype=np.float16, level=-1),
    with_scores(POSITIVE, [0.5, 0.2, 0.3, 0, 1, 0, 0.25, 0.25, 0.5, 0.125, 0.75, 0.125]),
    search([4], [1] * 4, candidates=70, beam_size=9, dtype=np.float32),
    search([1, 1], [1, 1], candidates=0, ended=[1]),
    search([], []),
    TIES,
    with_scores(TIES, array(5, 3), beam_size=1),
]
STEPS = LoDTensor(
    np.array([[nan, 1, 1], [0, nan, -inf], [nan, nan, nan], [2, 3, 1], [1, 0, 0], [0, 0, 5]]), [[2, 1], [3, 0, 3]]
)
SAMPLES = {
    "beam_search": SEARCHES,
    "greedy_decode": [
        ((STEPS,), {}),
        ((STEPS,), {"end_id": 0}),
        ((ragged([4, 0, 1, 2], item=(5,), dtype=np.float16),), {"end_id": 1}),
        ((LoDTensor(reals(7, 40, dtype=np.float32), [[7]]),), {"end_id": 50}),
        ((ragged([]),), {"end_id": 2}),
        ((ragged([0, 0], item=(1,)),), {}),
    ],
}
_PRE_IDS, _PRE_SCORES, _IDS, _SCORES = whole(search([2, 1], [1] * 3, dtype=np.float32))[0]
PADDLE = {
    "beam_search": (
        {"pre_ids": _PRE_IDS, "pre_scores": _PRE_SCORES, "ids": _IDS, "scores": _SCORES},
        {"level": 0, "beam_size": 2, "end_id": 0, "is_accumulated": True},
    )
}
