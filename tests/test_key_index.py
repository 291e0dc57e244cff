"""Features keep their entries sorted by key: every key reads as in plain Python, and pools as by single calls."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

import lodkit
from lodkit import Features, LoDMismatchError, Tape
from lodkit.jit import settings
from lodkit.lod import key_entries

rng = np.random.default_rng(0)


def irregular(examples=40, seed=0):
    """Features whose examples have some of the keys, in any order, one of them twice."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 6, examples)
    keys = draw.choice(np.array([-7, 3, 2**40, 5, 11]), lengths.sum())
    counts = draw.integers(0, 4, len(keys))
    return Features(lengths, keys, counts, draw.integers(0, 9, counts.sum()))


def expected(features, key):
    """What a key has, in plain Python."""
    found, entries = [], iter(zip(features.keys.tolist(), features.values.drop_level(0).to_list(), strict=True))
    for length in features.lengths:
        pairs = [next(entries) for _ in range(length)]
        found.append([x for k, xs in pairs if k == key for x in xs])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_key_is_read(seed):
    features = irregular(seed=seed)
    for key in (5, -7, 2**40, 11, 3, 99):
        assert features.feature(key).to_list() == expected(features, key)
        part = features[3:20]
        assert part.feature(key).to_list() == expected(part, key)


@settings_of_hypothesis(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([1, 3, 1 << 40]), st.booleans())
def test_entries_are_grouped_by_key(data, spread, regular):
    """Of examples that have the same keys in one order, of keys that are close together, and of any."""
    keys = st.lists(st.integers(-3, 3).map(lambda k: k * spread), max_size=6)
    examples = data.draw(st.lists(keys, max_size=8))
    examples = [examples[0]] * len(examples) if regular and examples else examples
    flat, offsets = np.array([key for keys in examples for key in keys], np.int64), np.cumsum([0, *map(len, examples)])
    ways = [key_entries.deal_entries(flat, offsets), key_entries.count_entries(flat)]
    ways += [key_entries.sort_entries(flat, offsets), key_entries.group_entries(flat, offsets)]
    for distinct, bounds, entries in filter(None, ways):
        np.testing.assert_array_equal(distinct, np.unique(flat))
        np.testing.assert_array_equal(entries, np.argsort(flat, kind="stable"))
        np.testing.assert_array_equal(bounds, np.searchsorted(np.sort(flat), [*distinct, np.iinfo(np.int64).max]))
    if regular and len(flat) and len(set(examples[0])) == len(examples[0]):
        assert ways[0] is not None


def test_scalars_are_read_in_any_order():
    keys, values = np.array([5, 2**40, 5, -1, 2**40]), np.arange(10.0).reshape(5, 2)
    features = Features([2, 0, 2, 1], keys, None, values)
    found = lodkit.select_features(features.values, keys=keys, feature_keys=[2**40, 7, 5])
    assert found.to_list() == [
        [[[2.0, 3.0]], [], [], [[8.0, 9.0]]],
        [[], [], [], []],
        [[[0.0, 1.0]], [], [[4.0, 5.0]], []],
    ]


def test_many_keys_are_read():
    """More than are found by insertion."""
    keys = rng.permutation(5000)
    features = Features([len(keys)], keys, None, np.arange(len(keys)))
    for key in (0, 17, 4999):
        assert features.feature(key).to_list() == [[int(np.flatnonzero(keys == key)[0])]]
    assert Features([], [], [], np.zeros(0, np.int64)).feature(3).to_list() == []
    assert Features([0, 0], [], None, np.zeros(0, np.int64)).feature(3).to_list() == [[], []]


def test_blocks_of_examples_are_read(monkeypatch):
    """Of more examples than a thread copies at once: rows of keys that have entries in some blocks alone."""
    features = lodkit.concat([irregular(3000), Features([0] * 2100, [], [], np.zeros(0, np.int64)), irregular(900, 1)])
    for parallel_from in (settings.parallel_from, 1):
        monkeypatch.setattr(settings, "parallel_from", parallel_from)
        for key in (5, 2**40, 99):
            assert features.feature(key).to_list() == expected(features, key)
        found = lodkit.select_features(features.values, keys=features.keys, feature_keys=[99, 11, -7])
        assert found.to_list() == [features.feature(key).to_list() for key in (99, 11, -7)]


def test_structure_is_kept_and_values_are_not():
    features = irregular()
    before = features.feature(3)
    features.values.values[...] += 100
    assert features.feature(3).to_list() == [[x + 100 for x in xs] for xs in before.to_list()]


def test_copies_read_their_own_keys():
    features = irregular()
    features.feature(3)
    for other in (pickle.loads(pickle.dumps(features)), copy.copy(features), copy.deepcopy(features)):
        assert other.equals(features)
        assert other.feature(3).to_list() == features.feature(3).to_list()
    assert len(pickle.dumps(features)) == len(pickle.dumps(irregular()))
    parts = lodkit.concat([features, features[:5]])
    assert parts.feature(11).to_list() == features.feature(11).to_list() + features[:5].feature(11).to_list()


def test_an_index_serves_its_own_values():
    features, other = irregular(), irregular(seed=1)
    features.feature(3)
    assert lodkit.select_features(features.values, keys=features._index, feature_keys=[3]).to_list()
    with pytest.raises(LoDMismatchError, match="index of other values"):
        lodkit.select_features(other.values, keys=features._index, feature_keys=[3])


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_pool_takes_the_bits_of_single_calls(pool):
    features = irregular(200)
    tables = {key: rng.standard_normal((9, 4)) for key in (11, -7, 2**40, 42)}
    columns = {key: features.feature(key) for key in tables}
    parts = [lodkit.embedding_bag(table, columns[key], pool=pool) for key, table in tables.items()]
    np.testing.assert_array_equal(features.pool(tables, pool), np.concatenate(parts, axis=1))
    table = lodkit.parameter(tables[11])
    with Tape() as tape:
        total = features.pool({11: table, 42: tables[42], -7: table}, pool).sum()
    (grad,) = tape.gradient(total, [table])
    with Tape() as tape:
        total = sum(lodkit.embedding_bag(table, columns[key], pool=pool).sum() for key in (11, -7))
    np.testing.assert_allclose(grad.to_dense(), tape.gradient(total, [table])[0].to_dense())
