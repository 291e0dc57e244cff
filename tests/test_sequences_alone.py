"""Chains, CTC and edit distances: a batch of three levels equals its sequences alone, in any order, empty ones too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.lod import values_of

ABOVE = [2, 1], [2, 0, 3]
TRANSITION = lodkit.parameter(np.random.default_rng(0).normal(size=(5, 3)))


def scores(classes):
    return LoDTensor(np.random.default_rng(1).normal(size=(11, classes)), [*ABOVE, [3, 1, 0, 5, 2]])


def numbers(*lengths, first=0):
    return LoDTensor(np.random.default_rng(2).integers(first, 3, sum(lengths)), [*ABOVE, lengths])


TAGS, LABELS, WORDS = numbers(3, 1, 0, 5, 2), numbers(1, 1, 0, 2, 0, first=1), numbers(2, 0, 4, 5, 1)
CASES = {
    "linear_chain_crf": (lambda x, y, **at: lodkit.linear_chain_crf(x, TRANSITION, y, **at), scores(3), TAGS),
    "crf_decoding": (lambda x, **at: lodkit.crf_decoding(x, TRANSITION, **at), scores(3)),
    "ctc_loss": (lodkit.ctc_loss, scores(4), LABELS),
    "edit_distance": (lambda x, y, level: lodkit.edit_distance(x, y), TAGS, WORDS),  # of the innermost level
}
LOSSES, LEVELED = ("linear_chain_crf", "ctc_loss"), ("linear_chain_crf", "crf_decoding", "ctc_loss")


def differentiated(name, inputs, level):
    """The result; of losses, also the gradients of their sum by the scores and, which adds up, by the transition."""
    with lodkit.Tape() as tape:
        result = CASES[name][0](*inputs, level=level)
    if name not in LOSSES:
        return [values_of(result)], 0.0
    by_scores, by_transition = tape.gradient(result, [inputs[0], TRANSITION], unconnected="none")
    return [values_of(result), by_scores.values], 0.0 if by_transition is None else by_transition


def parts(x, level):
    """Every sequence of a level as a batch of its own, in one level."""
    return [LoDTensor(x.values[a:b], [[b - a]]) for a, b in itertools.pairwise(x.row_offsets(level))]


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [1, 1, 0]])
@pytest.mark.parametrize(("name", "level"), [*itertools.product(LEVELED, (0, 1, 2)), ("edit_distance", -1)])
def test_a_batch_equals_its_sequences_one_by_one(name, level, order):
    inputs = [x[np.array(order)] for x in CASES[name][1:]]
    rows, total = differentiated(name, inputs, level)
    alone = [differentiated(name, one, -1) for one in zip(*(parts(x, level) for x in inputs), strict=True)]
    ones, shares = zip(*alone, strict=True)
    for found, expected in zip(rows, zip(*ones, strict=True), strict=True):
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(total, sum(shares), rtol=1e-10, atol=1e-12)
