"""Which rank owns which row: both ways, every row once, evenly."""

from __future__ import annotations

import numpy as np
import pytest

from lodkit import RowIndexError
from lodkit.distributed import Hashed, Ranges
from lodkit.distributed.dealing import as_dealing

KINDS = pytest.mark.parametrize("kind", [Ranges, Hashed])


@KINDS
@pytest.mark.parametrize("hot", [None, [0], [5, 2, 5, 0], "all"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("height", [6, 7, 100, 1025])
def test_every_row_is_at_one_place_and_found_there(kind, height, ranks, hot):
    hot = np.arange(height) if hot == "all" else hot
    dealing = kind(height, ranks, hot)
    ids = np.arange(height)
    owners, local = dealing.owners(ids), dealing.local(ids)
    replicated = np.unique(np.asarray([] if hot is None else hot, np.int64))
    assert np.flatnonzero(owners < 0).tolist() == replicated.tolist()
    seen = []
    for rank in range(ranks):
        rows = dealing.rows(rank)
        assert len(rows) == dealing.counts[rank]
        np.testing.assert_array_equal(dealing.local(rows), np.arange(len(rows)))
        np.testing.assert_array_equal(rows[: len(replicated)], replicated)
        assert (dealing.owners(rows)[len(replicated) :] == rank).all()
        assert (local[rows] == np.arange(len(rows))).all()
        blocks = [dealing.rows(rank, i, i + 3) for i in range(0, len(rows), 3)]
        np.testing.assert_array_equal(np.concatenate(blocks or [rows]), rows)
        seen.append(rows[len(replicated) :])
    assert np.sort(np.concatenate([replicated, *seen])).tolist() == ids.tolist()
    assert np.ptp(dealing.counts) <= 1


@KINDS
@pytest.mark.parametrize("height", [0, 1, 2, 3])
def test_more_ranks_than_rows(kind, height):
    dealing = kind(height, 5)
    assert dealing.counts.sum() == height
    assert sorted(np.concatenate([dealing.rows(r) for r in range(5)])) == [*range(height)]
    assert dealing.owners([]).dtype == dealing.local(np.zeros((0, 3), np.int32)).dtype == np.int64


@KINDS
def test_billions_of_rows(kind):
    height = 40_000_000_000
    dealing = kind(height, 1024, hot=[3, height - 1])
    ids = np.random.default_rng(0).integers(0, height - 1, 1000)
    ids = ids[ids != 3]
    owners, local = dealing.owners(ids), dealing.local(ids)
    assert (local < dealing.counts[owners]).all()
    back = [dealing.rows(o, r, r + 1)[0] for o, r in zip(owners[:50], local[:50], strict=True)]
    assert back == ids[:50].tolist()


@pytest.mark.parametrize("stride", [1, 2, 3, 64, 1000, 1024, 4096, 65536])
def test_a_hash_spreads_any_pattern_of_ids(stride):
    height, ranks = 100_000_007, 16
    ids = (np.arange(1500) * stride) % height
    counts = np.bincount(Hashed(height, ranks).owners(ids), minlength=ranks)
    expected = len(ids) / ranks
    assert ((counts - expected) ** 2).sum() / expected < 50  # chi-squared of 15 degrees of freedom: 1 in 90,000


def test_seeds_give_other_permutations():
    ids = np.arange(1000)
    a, b = (Hashed(10_000, 4, seed=seed).owners(ids) for seed in (0, 1))
    assert 600 < (a != b).sum() < 900
    np.testing.assert_array_equal(a, Hashed(10_000, 4, seed=0).owners(ids))


def test_shapes_and_types_of_ids():
    dealing = Ranges(10, 2)
    assert dealing.owners(np.array([[1, 9]], np.int32)).tolist() == [[0, 1]]
    assert dealing.local(np.array([[1, 9]], np.int32)).tolist() == [[1, 4]]
    assert int(dealing.owners(3)) == 0
    hashed = Hashed(5, 2)  # three of eight places are outside
    assert [int(hashed.local(i)) for i in range(5)] == hashed.local([*range(5)]).tolist()


def test_errors_name_the_value():
    dealing = Ranges(10, 2, hot=[1])
    for ids in ([1, 10], [-1, 0]):
        for call in (dealing.owners, dealing.local):
            with pytest.raises(RowIndexError, match="outside"):
                call(ids)
    with pytest.raises(RowIndexError, match=r"hot\[1\] = 10"):
        Ranges(10, 2, hot=[3, 10])
    with pytest.raises(ValueError, match="rank must be from 0 to 1, got 2"):
        dealing.rows(2)
    with pytest.raises(ValueError, match="ranks must be at least 1, got 0"):
        Ranges(10, 0)
    with pytest.raises(ValueError, match="height"):
        Hashed(-1, 2)
    with pytest.raises(ValueError, match=r"hash.*got 'range'"):
        as_dealing("range", 10, 2)
    with pytest.raises(ValueError, match="is not for 10 rows over 3 ranks"):
        as_dealing(dealing, 10, 3)
    with pytest.raises(ValueError, match="leave it out"):
        as_dealing(dealing, 10, 2, hot=[1])
    assert as_dealing(dealing, 10, 2) is dealing
    assert as_dealing("hash", 10, 2).counts.tolist() == [5, 5]
