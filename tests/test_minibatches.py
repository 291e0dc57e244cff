"""concat, split and batches."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import Features, LoDMismatchError, LoDTensor, RowIndexError, SelectedRows, batches, concat, split


@pytest.fixture
def data():
    lengths = np.arange(100) % 7
    rows = np.repeat(np.arange(100), lengths)
    return LoDTensor(rows, [lengths]), np.arange(100)


def test_concat_refuses_what_does_not_join():
    one, two = LoDTensor([1], [[1]]), LoDTensor([1], [[1], [1]])
    for other in (two, LoDTensor([[1.0]], [[1]]), LoDTensor(None, [[1]])):
        with pytest.raises(LoDMismatchError, match="concat"):
            concat([one, other])
    with pytest.raises(ValueError, match="at least one"):
        concat([])
    with pytest.raises(TypeError, match="ndarray at position 1"):
        concat([one, one.values])


def test_there_are_as_many_parts_as_asked_for():
    """Paddle gives fewer: three parts of nine sequences for four places, none of ceil(9 / 4) left over."""
    for count, parts, sizes in ((9, 4, [3, 2, 2, 2]), (2, 3, [1, 1, 0]), (0, 2, [0, 0]), (1, 1, [1])):
        for levels in range(4):
            lengths = [[1] * count] * levels
            found = split(LoDTensor(np.zeros((count, 2)), lengths), parts)
            assert [len(part) for part in found] == sizes
            assert all(part.lod_level == levels and part.shape[1:] == (2,) for part in found)


def test_empty_parts_join_where_paddle_counts_them_twice():
    """Its MergeLoDTensor takes the rows of the second part twice when the first is empty."""
    parts = [
        LoDTensor(np.empty((0, 1)), [[], []]),
        LoDTensor([[1.0], [2.0]], [[2], [1, 1]]),
        LoDTensor([[3.0]], [[1], [1]]),
    ]
    joined = concat(parts)
    assert joined.values.ravel().tolist() == [1, 2, 3]
    assert joined.recursive_sequence_lengths() == [[2, 1], [1, 1, 1]]
    assert concat(parts[:1]).lod() == [[0], [0]]


def test_parts_of_about_as_many_rows():
    t = LoDTensor(np.arange(16), [[10, 1, 1, 0, 1, 3]])
    assert [len(part) for part in split(t, 2, by="rows")] == [1, 5]
    assert [part.shape[0] for part in split(t, 3, by="rows")] == [10, 1, 5]
    assert [len(part) for part in split(LoDTensor(np.empty(0), [[0, 0, 0]]), 2, by="rows")] == [2, 1]
    assert [len(part) for part in split(np.arange(5), 2, by="rows")] == [3, 2]
    nested = LoDTensor(np.arange(6), [[1, 2], [5, 1, 0]])
    assert [part.to_list() for part in split(nested, 2, by="rows")] == [nested.to_list()[:1], nested.to_list()[1:]]


def test_parts_are_views_that_know_their_rows():
    t = LoDTensor(np.arange(6), [[1, 2, 3]])
    second = split(t, 2)[1]
    assert np.shares_memory(second.values, t.values)
    assert second.lod() == [[0, 3]]
    assert second.offsets(absolute=True).tolist() == [3, 6]
    assert [len(part) for part in split(LoDTensor(None, [[1, 2, 3]]), 2)] == [2, 1]


def test_parts_of_a_sparse_gradient_are_those_of_the_dense_one():
    sparse = SelectedRows([7, 1, 7, 9], np.arange(8.0).reshape(4, 2), 10)
    for parts in (1, 3, 4, [5, 5, 8]):
        for part, dense in zip(split(sparse, parts), np.array_split(sparse.to_dense(), parts), strict=True):
            assert np.array_equal(part.to_dense(), dense)


def test_parts_of_features():
    features = Features([2, 0, 1], [1, 3, 1], [2, 1, 1], [10, 11, 101, 11])
    for by in ("sequences", "rows"):
        assert concat(split(features, 2, by=by)).equals(features)


def test_parts_that_cannot_be(data):
    t, _ = data
    for wrong in (0, -1, 2.5, True, "2"):
        with pytest.raises(ValueError, match="parts must be a positive integer"):
            split(t, wrong)
    for wrong in ([3, 2], [-1], [101], [[1, 2]]):
        with pytest.raises(RowIndexError, match="ascending"):
            split(t, wrong)
    with pytest.raises(ValueError, match='by must be "sequences" or "rows"'):
        split(t, 2, by="words")
    with pytest.raises(ValueError, match="no rows"):
        split(np.float64(3) * np.ones(()), 2)


def test_every_sequence_comes_once_with_its_label(data):
    t, labels = data
    seen = []
    for batch, label, same in batches(t, labels, t, size=8, seed=3):
        assert len(batch) == len(label) <= 8
        assert batch.equals(same)
        seen.extend(label.tolist())
        for sequence, n in zip(batch, label, strict=True):
            assert sequence.tolist() == [n] * (n % 7)
    assert sorted(seen) == list(range(100))
    assert seen != list(range(100))


def test_a_seed_repeats(data):
    t, labels = data
    a, b, c = ([label.tolist() for _, label in batches(t, labels, size=9, seed=s)] for s in (1, 1, 2))
    assert a == b != c
    assert all(isinstance(batch, LoDTensor) for batch in batches(t, size=50))


def test_buckets_pad_less_and_lose_nothing(data):
    t, labels = data

    def waste(bucket):
        got = list(batches(t, labels, size=10, seed=0, bucket=bucket))
        assert sorted(n for _, label in got for n in label.tolist()) == list(range(100))
        return sum(batch.padding_waste() for batch, _ in got)

    assert waste(True) < waste(False) / 2


def test_bad_arguments_raise_at_once(data):
    t, labels = data
    for size in (0, 2.5, True):
        with pytest.raises(ValueError, match="size"):
            batches(t, size=size)
    with pytest.raises(ValueError, match=r"labels\[0\] has 99 entries for 100"):
        batches(t, labels[1:], size=2)


def test_no_sequences():
    empty = LoDTensor(np.empty((0, 2)), [[]])
    for bucket in (False, True):
        assert list(batches(empty, size=4, bucket=bucket)) == []
