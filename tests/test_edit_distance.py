"""Edit distance beside the plain table, in lengths around the words of bits, and under Paddle's name."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor
from lodkit.paddle import run_op


@pytest.mark.parametrize("alphabet", [2, 5, 1000])
def test_lengths_around_words(alphabet):
    rng = np.random.default_rng(alphabet)
    lengths = rng.choice([0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 200], (2, 60))
    hyp, ref = (LoDTensor(rng.integers(0, alphabet, n.sum()) * 0x1000000000 - 5, [n]) for n in lengths)
    np.testing.assert_array_equal(lodkit.edit_distance(hyp, ref), lodkit.edit_distance.definition(hyp, ref))
    np.testing.assert_array_equal(lodkit.edit_distance(hyp, ref), lodkit.edit_distance(ref, hyp))


def test_is_that_of_rapidfuzz():
    distance = pytest.importorskip("rapidfuzz").distance.Levenshtein.distance
    rng = np.random.default_rng(0)
    ref = [rng.integers(0, 50, n) for n in rng.integers(1, 3000, 6)]
    hyp = [np.delete(np.where(rng.random(len(x)) < 0.1, 7, x), slice(3, 40, 5)) for x in ref]
    found = lodkit.edit_distance(LoDTensor.from_sequences(hyp), LoDTensor.from_sequences(ref))
    assert found.tolist() == [distance(h.tolist(), r.tolist()) for h, r in zip(hyp, ref, strict=True)]


def test_empty_references():
    hyp, ref = LoDTensor([1, 2], [[2, 0]]), LoDTensor(np.zeros(0, np.int64), [[0, 0]])
    assert lodkit.edit_distance(hyp, ref, normalized=True).tolist() == [np.inf, 0]
    with pytest.raises(lodkit.LoDError, match="sequence 0 of Refs is empty"):
        run_op("edit_distance", {"Hyps": hyp, "Refs": ref}, {"normalized": True})


def test_padded():
    hyp, ref = np.array([[1, 2, 9], [4, 9, 9]]), np.array([[1, 3], [4, 9]])
    lengths = {"HypsLength": np.array([2, 1]), "RefsLength": np.array([[2], [1]])}
    out = run_op("edit_distance", {"Hyps": hyp, "Refs": ref, **lengths}, {"normalized": True})
    assert out["Out"].tolist() == [[0.5], [0]]
    assert out["SequenceNum"].tolist() == [2]


def test_bad_input():
    one, two = LoDTensor([1, 2], [[2]]), LoDTensor([1, 2], [[1, 1]])
    with pytest.raises(lodkit.LoDMismatchError, match="hyp has 1 sequences, ref 2"):
        lodkit.edit_distance(one, two)
    with pytest.raises(lodkit.ShapeMismatchError, match="a token is one number"):
        lodkit.edit_distance(LoDTensor(np.ones((2, 2), np.int64), [[2]]), one)
    with pytest.raises(lodkit.LoDError, match="tokens has shape"):
        lodkit.edit_distance(one, one, ignored_tokens=[[1]])
