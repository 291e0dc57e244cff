"""Tables go on from a checkpoint on any number of ranks, to the bits of a run that never stopped."""

from __future__ import annotations

import batches
import numpy as np
import pytest

from lodkit.distributed import (
    Checkpoint,
    CheckpointError,
    Hashed,
    NoCheckpointError,
    ShardedTable,
    ShardedTables,
    run_threads,
)

HEIGHT, WIDTH, STEPS = 211, 4, 4
RULES = ["sgd", "adagrad", "rowwise_adagrad", "adam", "smart_decay_adam", "wngrad"]


def batch(step, engine):
    """This rank's part of a batch that does not depend on the ranks."""
    return batches.batch(step, engine.rank, engine.size, HEIGHT, bags=24, longest=6)


def train(table, steps):
    for step in steps:
        out = table.embedding_bag(batch(step, table.engine), pool="mean")
        table.update((np.cos(out) / 2).astype(out.dtype))


def made(engine, rule, **options):
    return ShardedTable(HEIGHT, WIDTH, engine, rule=rule, lr=0.1, init="normal", **options)


def arrays(directory):
    values, states = Checkpoint(directory).table()
    return {"values": values, **states}


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("rule", RULES)
def test_a_run_goes_on_with_other_ranks_to_the_same_bits(tmp_path, rule):
    def without_a_stop(engine):
        table = made(engine, rule)
        train(table, range(STEPS))
        table.save(tmp_path / "whole")

    def first(engine):
        table = made(engine, rule, dealing="hash", hot=None if rule == "wngrad" else [0, 5])
        train(table, range(STEPS // 2))
        table.save(tmp_path / "parts")

    def rest(engine, stop):
        table = ShardedTable.load(tmp_path / "parts", engine)
        assert type(table.dealing) is Hashed or engine.size == 1
        train(table, range(table.iteration, stop))
        table.save(tmp_path / "parts")

    run_threads(1, without_a_stop)
    run_threads(3, first)
    run_threads(1, lambda engine: rest(engine, STEPS - 1))
    run_threads(2, lambda engine: rest(engine, STEPS))
    expected, found = arrays(tmp_path / "whole"), arrays(tmp_path / "parts")
    if rule == "wngrad":  # its norm adds up by ranks
        assert all(np.allclose(found[name], array, rtol=1e-5) for name, array in expected.items())
    else:
        same(found, expected)
    assert Checkpoint(tmp_path / "parts").tables["table"]["iteration"] == STEPS


def test_float16_with_noise_goes_on_to_the_same_bits(tmp_path):
    def run(engine, directory, steps):
        try:
            table = ShardedTable.load(directory, engine)
        except NoCheckpointError:
            table = made(engine, "adagrad", dtype=np.float16, rounding_seed=7, dealing="hash")
        train(table, range(table.iteration, steps))
        table.save(directory)

    run_threads(1, lambda engine: run(engine, tmp_path / "whole", STEPS))
    for ranks, steps in [(2, 1), (3, 3), (1, STEPS)]:
        run_threads(ranks, lambda engine, steps=steps: run(engine, tmp_path / "parts", steps))
    same(arrays(tmp_path / "parts"), arrays(tmp_path / "whole"))
    assert arrays(tmp_path / "parts")["values"].dtype == np.float16


def test_several_tables_are_of_one_moment(tmp_path):
    def first(engine):
        tables = ShardedTables({name: made(engine, rule) for name, rule in [("user", "adam"), ("item", "sgd")]})
        for step in range(2):
            out = tables.embedding_bag({name: batch(step, engine) for name in tables})
            tables.update(out)
        tables.save(tmp_path, extra={"epoch": 2, "bias": np.arange(3.0)})
        return {name: (table.dealing.rows(engine.rank), table.values.copy()) for name, table in tables.items()}

    saved = run_threads(2, first)
    for name in ("user", "item"):
        values, states = Checkpoint(tmp_path).table(name)
        for found in saved:
            np.testing.assert_array_equal(values[found[name][0]], found[name][1])
        assert sorted(states) == (["moment1", "moment2"] if name == "user" else [])
    loaded = run_threads(3, lambda engine: ShardedTables.load(tmp_path, engine, lr=0.5))
    assert [*loaded[0]] == ["user", "item"]
    assert loaded[0]["item"].rule.attrs["lr"] == 0.5
    assert loaded[0]["user"].iteration == 2
    user = run_threads(1, lambda engine: ShardedTable.load(tmp_path, engine, name="user"))[0]
    np.testing.assert_array_equal(user.values, Checkpoint(tmp_path).rows("user.values"))
    assert Checkpoint(tmp_path).extra()["bias"].tolist() == [0, 1, 2]
    with pytest.raises(KeyError, match="has no table 'table', but user, item"):
        run_threads(2, lambda engine: ShardedTable.load(tmp_path, engine))


def test_dealings_are_kept_or_chosen_again(tmp_path):
    def save(engine):
        made(engine, "sgd", dealing=Hashed(HEIGHT, engine.size, [3], seed=5)).save(tmp_path)

    run_threads(2, save)
    found = run_threads(4, lambda engine: ShardedTable.load(tmp_path, engine))[0].dealing
    assert (type(found), found.seed, found.hot.tolist(), found.ranks) == (Hashed, 5, [3], 4)
    found = run_threads(2, lambda engine: ShardedTable.load(tmp_path, engine, dealing="ranges", hot=[1, 2]))[0].dealing
    assert (type(found).__name__, found.hot.tolist()) == ("Ranges", [1, 2])
    found = run_threads(2, lambda engine: ShardedTable.load(tmp_path, engine, dealing="ranges"))[0].dealing
    assert found.hot.tolist() == []


def test_what_cannot_be_saved_or_loaded_is_refused(tmp_path):
    table = ShardedTable(9, 2, rule="sgd", lr=0.1)
    with pytest.raises(ValueError, match=r"the table 'a/b' becomes a name of files"):
        ShardedTables({"a/b": table}).save(tmp_path)
    with pytest.raises(ValueError, match=r"the array 'uuu.*u\.values' becomes a name of files: take at most 81"):
        ShardedTables({"u" * 75: table}).save(tmp_path)
    longest = "u" * 74
    ShardedTables({longest: table}).save(tmp_path / "longest")
    assert [*ShardedTables.load(tmp_path / "longest")] == [longest]
    table.rule.attrs["lr"] = lambda step: 0.1
    with pytest.raises(ValueError, match=r"lr=<function .* cannot be saved: give it to update"):
        table.save(tmp_path)
    ShardedTable(9, 2, rule="sgd", lr=0.1).save(tmp_path)
    with pytest.raises(CheckpointError, match=r"table\.moment is None, where adagrad needs \(9, 2\) float32"):
        ShardedTable.load(tmp_path, rule="adagrad", states=())
    with pytest.raises(NoCheckpointError):
        ShardedTable.load(tmp_path / "elsewhere")
