"""Beam search: its order, whole searches against all sentences, ends, wrong inputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

ATTRS = {"beam_size": 2, "end_id": 0}
nan, inf = np.nan, np.inf


def prefixes(values, *per_source):
    return LoDTensor(np.array(values, float), [list(per_source), [1] * sum(per_source)])


def select(place, scores, *per_source, pre_ids=None, pre_scores=None, **attrs):
    """Ids that each prefix of a batch keeps, and the prefixes."""
    count = sum(per_source)
    before = np.ones(count, np.int64) if pre_ids is None else np.array(pre_ids)
    totals = np.zeros(count) if pre_scores is None else np.array(pre_scores, float)
    inputs = before, totals, None, prefixes(scores, *per_source)
    ids, _, parents = map(place.home, lodkit.beam_search(*map(place.to, inputs), **ATTRS | {"end_id": 99} | attrs))
    return [sentence for source in ids.to_list() for sentence in source], parents.tolist()


def test_equal_scores_go_to_the_later_prefix_then_to_the_later_candidate(place):
    assert select(place, [[1, 1, 1], [1, 1, 1]], 2) == ([[], [1, 2]], [1, 1])
    assert select(place, [[1, 1, 1], [1, 1, 1]], 2, beam_size=4) == ([[2], [0, 1, 2]], [0, 1, 1, 1])
    assert select(place, [[3, 1, 3], [1, 1, 1]], 2, beam_size=3) == ([[0, 2], [2]], [0, 0, 1])


def test_nan_loses_and_minus_infinity_is_a_number(place):
    assert select(place, [[nan, -inf, 5]], 1) == ([[2, 1]], [0, 0])
    assert select(place, [[nan, -inf, nan]], 1, beam_size=3) == ([[1, 0, 2]], [0, 0, 0])


def test_ended_prefixes_keep_their_score_and_finished_sources_give_nothing(place):
    scores, before = [[9, 8, 7], [1, 2, 3], [5, 6, 7]], [0, 4, 0]
    found = select(place, scores, 2, 1, pre_ids=before, pre_scores=[2.5, 0, 1], end_id=0)
    assert found == ([[0], [2], []], [0, 1])
    assert select(place, scores[:2], 2, pre_ids=before[:2], pre_scores=[8, 7], end_id=0, beam_size=1) == ([[], []], [])


def by_insertion(scores, beam_size):
    """The beam of a source, as Paddle's loop keeps it: prefix and column of each."""
    beam = []
    for r, row in enumerate(scores):
        for c, x in enumerate(row):
            at = next((k for k, (y, *_) in enumerate(beam) if y < x), len(beam))
            beam = [*beam[:at], (x, r, c), *beam[at:]][:beam_size]
    return beam


def test_selects_what_insertion_selects():
    rng = np.random.default_rng(0)
    per_source = rng.integers(0, 6, 30)
    scores = rng.permutation(per_source.sum() * 40).reshape(-1, 40).astype(float)
    pre_ids = np.ones(len(scores), np.int64)
    ids, totals, parents = lodkit.beam_search(
        pre_ids, np.zeros(len(scores)), None, prefixes(scores, *per_source), beam_size=7, end_id=99
    )
    start = 0
    for s, count in enumerate(per_source):
        beam = sorted(by_insertion(scores[start : start + count], 7), key=lambda found: (found[1], -found[0]))
        rows = slice(*ids.row_offsets(0)[s : s + 2])
        assert ids.values[rows].tolist() == [c for _, _, c in beam]
        assert totals.values[rows].tolist() == [x for x, _, _ in beam]
        assert (parents[rows] - start).tolist() == [r for _, r, _ in beam]
        start += count


def test_nothing_hides_behind_nan():
    """Blocks of candidates are passed over; where NaN stands in one must not matter."""
    rng = np.random.default_rng(0)
    scores = np.where(rng.random((200, 50)) < 0.3, nan, rng.integers(0, 9, (200, 50)))
    rows = LoDTensor(scores, [[200]])
    ids, best = lodkit.greedy_decode(rows)
    np.testing.assert_array_equal(best.values, np.nanmax(scores, axis=1))
    np.testing.assert_array_equal(ids.values, np.nanargmax(scores, axis=1))
    inputs = np.ones(200, np.int64), np.zeros(200), None, prefixes(scores, *[1] * 200)
    for k in (1, 4):
        found = lodkit.beam_search(*inputs, beam_size=k, end_id=0)[1].values.reshape(200, k)
        np.testing.assert_array_equal(found, -np.sort(-scores, axis=1)[:, :k])


def searched(place, table, starts, beam_size, steps):
    """Sentences and scores of every source, by a table of the logarithms of a word behind another."""
    n = len(starts)
    ids = [place.to(LoDTensor(np.array(starts), [[1] * n, [1] * n]))]
    scores = [place.to(prefixes([0.0] * n, *[1] * n))]
    for _ in range(steps):
        before = place.home(ids[-1])
        totals = place.home(scores[-1]).values[:, None] + table[before.values]
        found = lodkit.beam_search(
            ids[-1], scores[-1], None, place.to(before.with_values(totals)), beam_size=beam_size, end_id=0
        )
        ids.append(found[0])
        scores.append(found[1])
    found = lodkit.beam_search_decode(*ids, *scores, beam_size=beam_size, end_id=0)
    words, totals = (place.home(x).to_list() for x in found)
    return [
        [(sentence, score[-1]) for sentence, score in zip(*pairs, strict=True)]
        for pairs in zip(words, totals, strict=True)
    ]


def test_a_wide_beam_finds_every_sentence_in_order(place):
    table, steps = np.random.default_rng(0).normal(size=(3, 3)), 3
    for source, start in zip(searched(place, table, [1, 2], 27, steps), (1, 2), strict=True):
        expected = {}
        for words in itertools.product(range(3), repeat=steps):
            end = next((i + 1 for i, word in enumerate(words) if word == 0), steps)
            sentence = (start, *words[:end])
            expected[sentence] = sum(table[a, b] for a, b in itertools.pairwise(sentence))
        assert {tuple(sentence) for sentence, _ in source} == set(expected)
        scores = [score for _, score in source]
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(scores, [expected[tuple(sentence)] for sentence, _ in source])


def test_greedy_decode_takes_the_first_of_equals_and_stops_behind_the_end(place):
    scores = LoDTensor(np.array([[nan, 2, 2], [0, 5, 1], [1, 1, 1], [nan, nan, nan]]), [[3, 0, 1]])
    ids, best = map(place.home, lodkit.greedy_decode(place.to(scores)))
    assert ids.to_list() == [[1, 1, 0], [], [0]]
    np.testing.assert_array_equal(best.values, [2, 5, 1, nan])
    assert place.home(lodkit.greedy_decode(place.to(scores), end_id=1)[0]).to_list() == [[1], [], [0]]


def test_scores_that_are_not_accumulated_are_probabilities(place):
    inputs = np.array([1]), np.array([-1.0]), None, prefixes([[0.5, 0.0, 0.25]], 1)
    found = lodkit.beam_search(*map(place.to, inputs), is_accumulated=False, beam_size=3, end_id=9)
    np.testing.assert_allclose(place.home(found[1]).values, [np.log(0.5) - 1, np.log(0.25) - 1, -inf])


SCORES = prefixes([[1, 2], [3, 4], [5, 6]], 2, 1)
BEFORE, TOTALS = np.array([1, 2, 3]), np.zeros(3)
IDS = np.ones((3, 2), np.int64)


@pytest.mark.parametrize(
    ("inputs", "attrs", "error", "message"),
    [
        ((BEFORE, TOTALS, None, SCORES), {"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        (
            (BEFORE, TOTALS, IDS - [[0, 0], [0, 3], [0, 0]], SCORES),
            {},
            lodkit.RowIndexError,
            r"ids\[1, 1\] = -2 is outside \[0, ",
        ),
        (
            (BEFORE[:2], TOTALS, None, SCORES),
            {},
            lodkit.ShapeMismatchError,
            r"pre_ids has shape \(2,\), scores \(3, 2\)",
        ),
        ((BEFORE, TOTALS, IDS[:, :1], SCORES), {}, lodkit.ShapeMismatchError, r"ids has shape \(3, 1\)"),
        ((BEFORE, TOTALS, None, prefixes([1, 2], 2)), {}, lodkit.ShapeMismatchError, r"\(prefixes, candidates\)"),
        ((BEFORE, TOTALS.astype(np.float32), None, SCORES), {}, lodkit.DTypeError, "pre_scores is float32"),
        ((TOTALS, TOTALS, None, SCORES), {}, lodkit.DTypeError, "pre_ids must be integers"),
        ((prefixes(BEFORE, 1, 2), TOTALS, None, SCORES), {}, lodkit.LoDMismatchError, "pre_ids against scores"),
        ((BEFORE, TOTALS, None, SCORES), {"level": 2}, lodkit.LoDLevelError, "level 2 does not exist"),
    ],
)
def test_a_wrong_step_is_refused(place, inputs, attrs, error, message):
    with pytest.raises(error, match=message):
        lodkit.beam_search(*map(place.to, inputs), **ATTRS | attrs)


FIRST = LoDTensor([5, 7], [[1], [2]]), LoDTensor([0.9, 0.8], [[1], [2]])
LAST = LoDTensor([1, 6], [[2], [1, 1]]), LoDTensor([0.5, 0.7], [[2], [1, 1]])


@pytest.mark.parametrize(
    ("steps", "attrs", "error", "message"),
    [
        ((FIRST[0], LAST[0], FIRST[1]), {}, ValueError, "the scores of as many, got 3 inputs"),
        ((*LAST, *FIRST), {}, lodkit.DTypeError, "scores of step 0 are int64 and int64"),
        ((FIRST[0], LAST[0], LAST[0], FIRST[1], LAST[1], LAST[1]), {"beam_size": 1}, ValueError, "has 2 hypotheses"),
        (
            (LAST[0], FIRST[0], LAST[1], FIRST[1]),
            {},
            lodkit.LoDMismatchError,
            "step 1 have .1. prefixes, and step 0 sel",
        ),
        ((LAST[0], FIRST[1]), {}, lodkit.LoDMismatchError, "scores against ids of step 0"),
        ((LoDTensor([1], [[1]]), LoDTensor([1.0], [[1]])), {}, lodkit.LoDLevelError, "step 0 have lod_level 1"),
        (
            (*(x.with_values(np.ones((2, 2), x.dtype)) for x in FIRST),),
            {},
            lodkit.ShapeMismatchError,
            r"must be \(2,\)",
        ),
        (FIRST, {"beam_size": 0}, ValueError, "beam_size must be at least 1"),
    ],
)
def test_wrong_steps_are_refused(place, steps, attrs, error, message):
    with pytest.raises(error, match=message):
        lodkit.beam_search_decode(*map(place.to, steps), **ATTRS | attrs)


def test_paddles_arrays_must_be_of_one_length():
    with pytest.raises(lodkit.paddle.SlotError, match="Ids has 2 steps, Scores 1"):
        lodkit.paddle.run_op("beam_search_decode", {"Ids": [FIRST[0], LAST[0]], "Scores": [FIRST[1]]}, ATTRS)


def test_a_search_has_no_gradient():
    scores = lodkit.parameter(SCORES)
    with lodkit.Tape() as tape:
        _, totals, _ = lodkit.beam_search(BEFORE, TOTALS, None, scores, **ATTRS)
    with pytest.raises(lodkit.LodkitError, match="beam_search has no gradient"):
        tape.gradient(totals, [scores])
