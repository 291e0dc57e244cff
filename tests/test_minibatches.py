"""concat and batches."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import LoDMismatchError, LoDTensor, batches, concat


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
