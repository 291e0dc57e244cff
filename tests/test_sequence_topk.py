"""The largest steps of sequences, and averages of them: ties, NaN, few columns, wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import lodkit
from lodkit import LoDTensor

X = LoDTensor(np.array([2.0, 7.0, 1.0, 7.0]), [[3, 0, 1]])


def test_levels_above_stay_and_short_sequences_give_all():
    x = LoDTensor(np.array([1.0, 3.0, 2.0, 5.0]), [[2, 1], [3, 0, 1]])
    values, indices = lodkit.sequence_topk(x, k=2)
    assert values.to_list() == [[[3.0, 2.0], []], [[5.0]]]
    assert indices.to_list() == [[[1, 2], []], [[0]]]


def test_ties_first_and_nan_above_all(place):
    x = LoDTensor(np.array([2, np.nan, 7, np.nan, 7, np.inf]), [[6]])
    _, indices = lodkit.sequence_topk(place.to(x), k=6)
    assert place.home(indices).values.tolist() == [1, 3, 5, 2, 4, 0]


def test_the_same_as_padded():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 50, 40)
    x = LoDTensor(rng.integers(0, 9, lengths.sum()).astype(np.float32), [lengths])
    values, indices = lodkit.sequence_topk(x, k=7)
    top, at = lodkit.lengths_top_k(x.values, lengths, k=7)
    np.testing.assert_array_equal(values.to_padded(max_length=7), top)
    np.testing.assert_array_equal(indices.to_padded(-1, max_length=7), at)


def test_gradient_through_the_tape():
    with lodkit.Tape() as tape:
        values, indices = lodkit.sequence_topk(X, k=1)
    assert tape.gradient(values, [X])[0].values.tolist() == [0, 1, 0, 1]
    assert tape.gradient(indices, [X], unconnected="none") == [None]


@pytest.mark.parametrize("bad", [-1, 3])
def test_indices_are_checked(place, bad):
    indices = LoDTensor([0, bad, 0], [[2, 0, 1]])
    with pytest.raises(lodkit.RowIndexError, match=rf"indices: {bad} at position 1 is outside \[0, 3\), the steps of"):
        lodkit.sequence_topk_grad(*map(place.to, (X, indices, np.ones(3))))


def pool(x, rows, columns, **attrs):
    row, column = (LoDTensor(np.zeros(sum(n)), [n]) for n in (rows, columns))
    return lodkit.sequence_topk_avg_pooling(x, row, column, **attrs)


def test_few_columns_are_divided_by_k():
    """The first of Paddle's cases: without columns 0, with fewer than k their sum over k."""
    x = LoDTensor(np.array([[1.0], [2.0]]), [[0, 2]])
    assert pool(x, [1, 1], [0, 2], topks=[1, 3], channel_num=1).values.tolist() == [[0, 0], [2, 1]]


def test_ties_give_to_the_first():
    x = LoDTensor(np.array([4.0, 4.0, 4.0]), [[3]])
    with lodkit.Tape() as tape:
        out = pool(x, [1], [3], topks=[2], channel_num=1)
    assert out.values.tolist() == [[4]]
    assert tape.gradient(out, [x])[0].values.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lodkit.sequence_topk(X, k=0), ValueError, "k must be at least 1, got 0"),
        (lambda: lodkit.sequence_topk(X.with_values(np.ones((4, 2))), k=1), lodkit.ShapeMismatchError, "one column"),
        (lambda: lodkit.sequence_topk_grad(X, X, np.ones(4)), lodkit.DTypeError, "indices must be int"),
        (
            lambda: lodkit.sequence_topk_grad(X, LoDTensor([0], [[1]]), np.ones(1)),
            lodkit.LoDMismatchError,
            "indices of 1 sequences",
        ),
        (
            lambda: pool(X, [1, 0, 1], [3, 1, 2], topks=[1], channel_num=1),
            lodkit.LoDMismatchError,
            "1 rows in sequence 2",
        ),
        (lambda: pool(X, [1, 1], [3, 1], topks=[1], channel_num=1), lodkit.LoDMismatchError, "3 sequences for 2"),
        (lambda: pool(X, [1, 0, 1], [3, 1], topks=[1], channel_num=1), lodkit.LoDMismatchError, "row has 3 sequences"),
        (lambda: pool(X, [1, 0, 1], [3, 0, 1], topks=[2, 1], channel_num=1), ValueError, "ascending integers"),
        (lambda: pool(X, [1, 0, 1], [3, 0, 1], topks=[], channel_num=1), ValueError, "ascending integers"),
        (lambda: pool(X, [1, 0, 1], [3, 0, 1], topks=[1], channel_num=0), ValueError, "channel_num must be at least 1"),
    ],
)
def test_wrong_inputs(call, error, message):
    with pytest.raises(error, match=message):
        call()
