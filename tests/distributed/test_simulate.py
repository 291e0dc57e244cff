"""What the simulator counts is what a loop over ids and ranks counts."""

from __future__ import annotations

import collections
import importlib.util
import pathlib

import numpy as np
import pytest

from lodkit import LoDTensor, RowIndexError
from lodkit.distributed import Hashed, Ranges, ShardedTable, imbalance, run_threads, simulate, zipf

WHATS = ("lookup", "partial", "update", "partial update")


def bags_of(lengths, height, seed=0):
    rng = np.random.default_rng(seed)
    return LoDTensor(rng.integers(0, height, sum(lengths)), [lengths])


def by_hand(bags, dealing):
    """Counts by (rank, owner) in plain Python: ids, distinct ids, bags with an id there, gradients, hot ids."""
    ids, unique, parts, grads, hot = collections.Counter(), set(), set(), set(), collections.Counter()
    lists, ranks = bags.to_list(), dealing.ranks
    for rank in range(ranks):
        for i in range(rank * len(lists) // ranks, (rank + 1) * len(lists) // ranks):
            for x, owner in zip(lists[i], dealing.owners(lists[i] or np.zeros(0, np.int64)).tolist(), strict=True):
                home = dealing.hot.tolist().index(x) % ranks if owner < 0 else owner
                grads.add((rank, home, i))
                if owner < 0:
                    hot[rank, home] += 1
                else:
                    ids[rank, owner] += 1
                    unique.add((rank, owner, x))
                    parts.add((rank, owner, i))
    return ids, *(collections.Counter(x[:2] for x in found) for found in (unique, parts, grads)), hot


@pytest.mark.parametrize("hot", [None, [0, 3, 17]])
@pytest.mark.parametrize("kind", [Ranges, Hashed])
@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_counts_are_those_of_a_loop(ranks, kind, hot):
    dealing = kind(40, ranks, hot)
    bags = bags_of([3, 0, 7, 1, 1, 20, 0, 5, 9, 2, 0], 40)
    found = simulate(bags, dealing, 12)
    matrices = found.ids, found.unique, found.parts, found.grads, found.hot
    for matrix, counter in zip(matrices, by_hand(bags, dealing), strict=True):
        assert {at: int(matrix[at]) for at in np.ndindex(ranks, ranks) if matrix[at]} == dict(counter)
    assert found.hot_rows.sum() == len(dealing.hot)
    assert found.bags.sum() == 11
    assert found.rows_read.tolist() == found.unique.sum(axis=0).tolist()
    assert found.ids_updated.sum() == len(bags.values)


def sent_by_tables(bags, dealing, **options):
    """Bytes and messages of an embedding_bag and an update on each rank, as real tables count them."""
    lengths, ranks = bags.lengths(), dealing.ranks

    def at(engine):
        first, stop = engine.rank * len(lengths) // ranks, (engine.rank + 1) * len(lengths) // ranks
        mine = LoDTensor(bags[first:stop].values, [lengths[first:stop]])
        table = ShardedTable(dealing.height, 3, engine, dealing=dealing, rule="adagrad", lr=0.1, **options)
        found = []
        for step in (lambda: table.embedding_bag(mine, pool=POOL), lambda: table.update(np.ones((len(mine), 3), "f4"))):
            table.traffic.clear()
            step()
            # What goes out together is counted part by part: lengths, rows and factors, and gradients with them.
            messages = {purpose: traffic.messages for purpose, traffic in table.traffic.items()}
            messages["positions"] = 0 if "grads" in messages else messages.get("positions", 0) // 3
            found.append([sum(traffic.bytes for traffic in table.traffic.values()), sum(messages.values())])
        return found

    return np.moveaxis(np.array(run_threads(ranks, at)), 0, -1).tolist()


POOL = "mean"


@pytest.mark.parametrize("hot", [None, [0, 3, 17]])
@pytest.mark.parametrize("kind", [Ranges, Hashed])
@pytest.mark.parametrize("ranks", [2, 5])
def test_bytes_and_messages_are_those_that_tables_count(ranks, kind, hot):
    dealing = kind(40, ranks, hot)
    bags = bags_of([3, 0, 7, 1, 1, 20, 0, 5, 9, 2, 0], 40)
    found = simulate(bags, dealing, 3, pool=POOL)
    for exchange, lookup in (("rows", "lookup"), ("partial", "partial")):
        update = "partial update" if exchange == "partial" and hot is None else "update"
        got = sent_by_tables(bags, dealing, exchange=exchange)
        for what, (size, messages) in zip((lookup, update), got, strict=True):
            assert size == found.sent(what).tolist(), what
            assert messages == found.messages(what).tolist(), what
            received = found.received(what)
            assert received.sum() == found.sent(what).sum()
            assert ranks > 2 or received.tolist() == size[::-1]


def test_formulas_of_the_page():
    """Those of docs/distributed.md, for ids at random: within what is left to chance."""
    ranks, bags, length, height = 16, 64, 10, 5000
    n, found = bags * length, simulate(bags_of([length] * bags * ranks, height), Hashed(height, ranks), 4)
    u = height * (1 - (1 - 1 / height) ** n)
    p = bags * ranks * (1 - (1 - 1 / ranks) ** length)
    away, counts = (ranks - 1) / ranks, 40 * (ranks - 1)
    i, w, f = 4, 16, 0
    formulas = {
        "lookup": counts + (i + w) * u * away,
        "partial": counts + (i * n + (4 + f + w) * p) * away,
        "update": counts + (i * n + (4 + f + w) * p) * away,
        "partial update": counts + w * p * away,
    }
    for what, expected in formulas.items():
        assert found.sent(what).mean() == pytest.approx(expected, rel=0.01), what
    hot = np.arange(height // 10)
    found = simulate(bags_of([length] * bags * ranks, height), Hashed(height, ranks, hot), 4)
    update = formulas["update"] + w * len(hot) * away
    assert found.sent("update").mean() == pytest.approx(update, rel=0.02)


@pytest.mark.parametrize("pool", [None, "max"])
def test_updates_of_rows_send_a_gradient_for_each_id(pool):
    dealing, ranks = Hashed(40, 3, [0, 3]), 3
    bags = bags_of([3, 0, 7, 1, 1, 20], 40)
    found = simulate(bags, dealing, 3)

    def at(engine):
        mine = LoDTensor(bags[2 * engine.rank : 2 * engine.rank + 2].values, [bags.lengths()[2 * engine.rank :][:2]])
        table = ShardedTable(40, 3, engine, dealing=dealing, rule="sgd", lr=0.1)
        out = table.lookup(mine.values) if pool is None else table.embedding_bag(mine, pool=pool)
        table.traffic.clear()
        table.update(np.ones_like(out))
        return sum(traffic.bytes for traffic in table.traffic.values())

    ids = found.ids + found.hot
    hot = (ranks - 1) * 12 * found.hot_rows
    assert run_threads(ranks, at) == (40 * (ranks - 1) + (4 + 12) * (ids.sum(axis=1) - ids.diagonal()) + hot).tolist()


@pytest.fixture(scope="module")
def script():
    """What counts and draws for the page."""
    file = pathlib.Path(__file__).parents[2] / "docs" / "plot_distributed.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_the_page_are_those_of_the_counts(script):
    page, counts = script.PAGE.read_text(), script.read()
    for mark, lines in script.tables(counts).items():
        text = "\n".join(lines)
        assert f"<!-- {mark} -->\n\n{text}\n\n<!-- end -->" in page, "run python docs/plot_distributed.py --draw"
    ids = zipf(8 * script.IDS_OF_A_RANK, script.HEIGHT, 1, seed=8)
    for *key, count in script.figures_of(("Zipf 1.0", "hash", 20, 8), script.cut(ids, 20), Hashed(script.HEIGHT, 8)):
        assert counts[tuple(key)] == pytest.approx(count, rel=1e-5), "run python docs/plot_distributed.py"


def test_one_rank_sends_nothing():
    found = simulate(bags_of([5, 5], 10), Ranges(10, 1), 4)
    assert [found.sent(what).tolist() for what in WHATS] == [[0]] * 4


def test_what_is_dealt_badly_shows():
    """Frequent ids next to each other: ranges give one rank most of the rows, a hash or copies of the first do not."""
    bags = LoDTensor(zipf(40_000, 10**6, 1.1, seed=1), [np.full(2000, 20)])
    ranges, hashed = (imbalance(simulate(bags, kind(10**6, 16), 64).rows_read) for kind in (Ranges, Hashed))
    assert ranges > 10
    assert hashed < 1.15
    few = simulate(bags, Hashed(10**6, 16, np.arange(1000)), 64)
    assert few.sent("lookup").sum() < 0.8 * simulate(bags, Hashed(10**6, 16), 64).sent("lookup").sum()


def test_zipf_ids_are_as_frequent_as_they_should_be():
    height = 1000
    for exponent in (0, 0.8, 1, 1.3):
        found = np.bincount(zipf(400_000, height, exponent, seed=2), minlength=height) / 400_000
        expected = np.arange(1, height + 1) ** -float(exponent)
        expected /= expected.sum()
        assert len(found) == height
        np.testing.assert_allclose(found[1:5], expected[1:5], rtol=0.12, err_msg=str(exponent))
        np.testing.assert_allclose(found[100:].sum(), expected[100:].sum(), rtol=0.1, err_msg=str(exponent))


def test_what_cannot_be_replayed_is_refused():
    with pytest.raises(RowIndexError, match=r"ids\[1\] = 10 is outside \[0, 10\)"):
        simulate(LoDTensor([1, 10], [[2]]), Ranges(10, 2), 4)
    with pytest.raises(TypeError, match="LoDTensor of one level"):
        simulate(np.arange(3), Ranges(10, 2), 4)
    with pytest.raises(ValueError, match=r"what must be one of \('lookup', .*got 'all'"):
        simulate(bags_of([1], 10), Ranges(10, 2), 4).sent("all")
    with pytest.raises(ValueError, match="exponent must be a number from 0 on, got -1"):
        zipf(1, 2, -1)
