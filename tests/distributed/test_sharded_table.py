"""Tables on several threads equal one process, bit for bit; by MPI: ``test_by_mpi.py``."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import scenarios

import lodkit
from lodkit import LoDTensor
from lodkit.distributed import (
    Alone,
    Hashed,
    Ranges,
    RankError,
    ShardedTable,
    ShardedTables,
    as_engine,
    normal,
    run_threads,
    uniform,
)

QUICK = [s for s in scenarios.ALL if s not in (scenarios.every_rule, scenarios.many)]  # these compile too much
BAGS = LoDTensor([1, 5, 1, 3], [[3, 0, 1]])


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("scenario", QUICK, ids=lambda s: s.__name__)
def test_threads_equal_one_process(scenario, ranks):
    run_threads(ranks, scenario)


def test_a_dealing_that_was_given_serves_one_process_too():
    for dealing in (Hashed(reference.HEIGHT, 1), Ranges(reference.HEIGHT, 1, hot=[3])):
        reference.equals_one_process(Alone(), "adagrad", "mean", dealing=dealing)
        reference.equals_one_process(Alone(), "adagrad", "sum", dtype=np.float16, rounding_seed=1, dealing=dealing)


def test_levels_above_the_bags_stay():
    ids = LoDTensor([1, 5, 1, 3], [[2, 1], [3, 0, 1]])

    def results(engine):
        tables = [ShardedTable(6, 2, engine, init=uniform(0, 1), lr=0.1, exchange=e) for e in ("rows", "partial")]
        pooled = [t.embedding_bag(ids, pool="mean", pad_value=7.0) for t in tables]
        rows = tables[0].lookup(ids)
        tables[0].update(rows)
        return [*pooled, rows, tables[0].lookup(np.array([[3], [1]]))]

    whole, sharded = run_threads(1, results)[0], run_threads(2, lambda e: results(e))
    for one in sharded:
        assert all(one[i].equals(whole[i]) for i in (0, 2))
        assert one[1].same_lod(whole[1])
        np.testing.assert_allclose(one[1].values, whole[1].values, rtol=1e-6)
        assert one[3].shape == (2, 1, 2)


def test_float16_bags_as_float32():
    def results(engine):
        table = ShardedTable(6, 2, engine, dtype="float16", init=uniform(0, 1))
        return table.embedding_bag(BAGS, pool="mean", dtype="float32")

    whole, *sharded = run_threads(1, results) + run_threads(3, results)
    assert whole.dtype == np.float32
    for one in sharded:
        reference.same(one, whole, "float32 of float16")


@pytest.mark.parametrize("width", [0, 1, 3])
def test_widths(width):
    def results(engine):
        table = ShardedTable(7, width, engine, init=uniform(0, 1), lr=0.1)
        out = table.embedding_bag(BAGS)
        table.update(out)
        return table.lookup([*range(7)])

    whole, *sharded = run_threads(1, results) + run_threads(2, results)
    for one in sharded:
        assert one.shape == whole.shape == (7, width)
        assert (one == whole).all() or width  # two ranks have twice the gradient


def test_empty_lookups():
    def results(engine):
        table = ShardedTable(7, 2, engine, lr=0.1)
        out = table.lookup([])
        table.update(out)
        return out.shape, table.lookup(np.zeros((0, 4), np.int32)).shape, table.embedding_bag(LoDTensor([], [[]])).shape

    for ranks in (1, 2):
        assert run_threads(ranks, results)[0] == ((0, 2), (0, 4, 2), (0, 2))


def test_first_values_follow_from_ids_alone():
    ids = np.array([0, 3, 999_999_999_999])
    for init in (uniform(-1, 1, seed=2), normal(1.0, 2.0, seed=2)):
        rows = init(ids, 5)
        assert rows.dtype == np.float32
        for i in range(3):
            np.testing.assert_array_equal(init(ids[i : i + 1], 5)[0], rows[i])
        many = init(np.arange(40_000), 3)
        np.testing.assert_array_equal(many[31_000:], init(np.arange(31_000, 40_000), 3))
        assert len(np.unique(many)) > 118_000
    many = uniform(-1, 1)(np.arange(50_000), 4)
    assert -1 <= many.min() < -0.999
    assert 0.999 < many.max() < 1
    np.testing.assert_allclose([many.mean(), many.var()], [0, 1 / 3], atol=0.01)
    assert np.abs(np.corrcoef(many.T) - np.eye(4)).max() < 0.02
    many = normal(1.0, 2.0)(np.arange(50_000), 4)
    np.testing.assert_allclose([many.mean(), many.std(), (many > 1).mean()], [1, 2, 0.5], atol=0.02)
    assert abs(((many - 1) ** 4).mean() / 16 - 3) < 0.1
    assert np.isfinite(many).all()
    other = uniform(-1, 1, seed=1)(np.arange(50_000), 4)
    assert abs(np.corrcoef(other.ravel(), uniform(-1, 1)(np.arange(50_000), 4).ravel())[0, 1]) < 0.02


def test_kinds_of_init():
    assert np.abs(ShardedTable(100, 3).values).max() <= 0.1
    assert ShardedTable(100, 3, init="normal", seed=1).values.std() > 0.8
    assert (ShardedTable(4, 3, init=2).values == 2).all()
    assert ShardedTable(4, 1, init=lambda ids, width: ids[:, None] * 2, dtype="float64").values.ravel().tolist() == [
        0,
        2,
        4,
        6,
    ]
    with pytest.raises(ValueError, match="init must be one of"):
        ShardedTable(4, 3, init="zeros")
    with pytest.raises(TypeError, match="init must be a name, a number or a function"):
        ShardedTable(4, 3, init=[1.0])
    with pytest.raises(lodkit.ShapeMismatchError, match=r"init gave shape \(4, 2\), not \(4, 3\)"):
        ShardedTable(4, 3, init=lambda ids, width: np.zeros((4, 2)))


def test_states_start_as_optimizers_have_them():
    assert [*ShardedTable(4, 3, rule="adam").states] == ["moment1", "moment2"]
    table = ShardedTable(4, 3, rule="adam", states=["largest"], lr=0.1, dtype="float16")
    assert [*table.states] == ["moment1", "moment2", "largest"]
    assert table.states["largest"].dtype == np.float32
    table.update(table.embedding_bag(LoDTensor([1], [[1]])))
    assert table.states["largest"][1].all()
    assert ShardedTable(4, 3, rule="wngrad").states["scale"].tolist() == [1.0]
    assert ShardedTable(4, 3, rule="smart_decay_adam").states["last_seen"].dtype == np.int64
    assert ShardedTable(4, 3, rule="rowwise_adagrad").states["moment"].shape == (4,)
    assert ShardedTable(4, 3, rule="ftrl").states.keys() == {"squared", "linear"}


def test_what_a_table_refuses():
    with pytest.raises(ValueError, match=r"rule must be an optimizer's operator, one of ada.*got 'relu'"):
        ShardedTable(4, 3, rule="relu")
    with pytest.raises(ValueError, match="adagrad has no states"):
        ShardedTable(4, 3, states=["largest"])
    with pytest.raises(ValueError, match="takes no mask"):
        ShardedTable(4, 3, mask=np.ones(4, bool))
    with pytest.raises(ValueError, match="exchange must be"):
        ShardedTable(4, 3, exchange="all")
    with pytest.raises(lodkit.DTypeError):
        ShardedTable(4, 3, dtype="int32")
    with pytest.raises(TypeError, match=r"comm must be a communicator.*got int"):
        ShardedTable(4, 3, 2)
    table = ShardedTable(6, 3)
    with pytest.raises(lodkit.LodkitError, match="update follows a lookup"):
        table.update(np.zeros((1, 3), np.float32), lr=0.1)
    out = table.embedding_bag(BAGS)
    with pytest.raises(TypeError, match="update needs lr"):
        table.update(out)
    batch = table.start(BAGS, pool="sum")
    with pytest.raises(lodkit.LodkitError, match="call wait"):
        table.update(out, batch=batch, lr=0.1)
    batch.wait()
    with pytest.raises(lodkit.LodkitError, match="waited for already"):
        batch.wait()
    with pytest.raises(ValueError, match="lr must be finite"):
        table.update(out, batch=batch, lr=np.inf)
    with pytest.raises(lodkit.LodkitError, match="of this table"):
        ShardedTable(6, 3).update(out, batch=batch, lr=0.1)
    with pytest.raises(ValueError, match="takes no mask"):
        table.update(out, batch=batch, lr=0.1, mask=np.ones(6, bool))
    with pytest.raises(TypeError, match="epsilom"):
        table.update(out, batch=batch, lr=0.1, epsilom=1.0)


def test_several_ranks_refuse_what_they_cannot_do():
    def refused(engine):
        hot = ShardedTable(9, 2, engine, rule="lamb", hot=[1], lr=0.1)
        out = hot.embedding_bag(BAGS)
        scenarios.raises(ValueError, lambda: hot.update(out), "would count hot rows on every rank")
        partial = ShardedTable(9, 2, engine, exchange="partial")
        scenarios.raises(ValueError, lambda: partial.embedding_bag(BAGS, pool="max"), "pool must be one of")
        noisy = ShardedTable(9, 2, engine, rule="dpsgd", clip_norm=1.0, sigma=1.0, lr=0.1)
        out = noisy.embedding_bag(BAGS)
        scenarios.raises(ValueError, lambda: noisy.update(out), "sigma")
        scenarios.raises(ValueError, lambda: partial.embedding_bag(BAGS, pool="median"), "median")

    run_threads(2, refused)


def test_traffic_is_what_travels():
    def sent(engine):
        table = ShardedTable(8, 4, engine, rule="sgd", init=1.0, lr=0.1)
        # rank 0 owns 0..3, rank 1 the others; each asks for 1, 2, 5, of which 5 twice
        out = table.embedding_bag(LoDTensor([1, 5, 5, 2], [[3, 1]]), pool="mean")
        table.update(out)
        return {name: (x.calls, x.messages, x.bytes) for name, x in table.traffic.items()}

    first, second = run_threads(2, sent)
    # An id takes 4 bytes, a row 16; a bag its length and its factor of 4 bytes each, and its gradient.
    assert [first.pop("counts"), second.pop("counts")] == [(2, 2, 2 * 5 * 8)] * 2
    assert first == {"ids": (1, 1, 4), "rows": (1, 1, 32), "positions": (3, 3, 4 + 8 + 4), "grads": (1, 1, 16)}
    assert second == {"ids": (1, 1, 8), "rows": (1, 1, 16), "positions": (3, 3, 8 + 8 + 8), "grads": (1, 1, 32)}


def test_ids_and_gradients_on_a_gpu(place):
    def results(engine):
        table = ShardedTable(6, 2, engine, init=uniform(0, 1), lr=0.1)
        ids, weights = place.to(BAGS), place.to(np.ones(4, np.float32))
        out = table.embedding_bag(ids, weights, pool="mean")
        table.update(place.to(out))
        table.update(place.to(table.lookup(place.to(np.array([4])))))
        return table.lookup([*range(6)])

    for ranks in (1, 2):
        found = run_threads(ranks, results)[0]
        assert isinstance(found, np.ndarray)
        assert (found != uniform(0, 1)(np.arange(6), 2)).any(axis=1).tolist() == [False, True, False, True, True, True]


def test_a_tape_gives_the_gradient_of_the_bags():
    def results(engine):
        table = ShardedTable(6, 2, engine, init=uniform(0, 1), lr=0.1)
        with lodkit.Tape() as tape:
            bags = table.embedding_bag(BAGS, pool="mean")
            loss = np.square(bags).sum()
        grads = tape.gradient(loss, [bags])
        table.update(grads[0])
        return np.asarray(bags), grads[0]

    for bags, grad in run_threads(1, results) + run_threads(2, results):
        np.testing.assert_array_equal(grad, 2 * bags)


def test_one_process_sends_nothing():
    table = ShardedTable(8, 4, lr=0.1)
    table.update(table.embedding_bag(BAGS))
    assert table.traffic == {}
    assert "rank 0 of 1 (one process) has 8" in repr(table)


def test_a_group_steps_all_its_tables_or_none():
    group = ShardedTables({"a": ShardedTable(8, 4, lr=0.1), "b": ShardedTable(8, 4, lr=0.1)})
    out = group.embedding_bag({"a": BAGS, "b": BAGS})
    before = group["a"].values.copy()
    with pytest.raises(lodkit.ShapeMismatchError):
        group.update({"a": out["a"], "b": out["b"][:1]})
    assert (group["a"].values == before).all()
    out = group.embedding_bag({"a": BAGS, "b": BAGS})
    with pytest.raises(ValueError, match="grads lacks the table 'b'"):
        group.update({"a": out["a"]})
    assert (group["a"].values == before).all()
    assert "a: <ShardedTable: 8 rows" in repr(group)
    with pytest.raises(ValueError, match="tables of one engine"):
        ShardedTables({"a": ShardedTable(8, 4), "b": run_threads(1, lambda e: ShardedTable(8, 4, e))[0]})


def test_threads_end_together():
    def one_fails(engine):
        if engine.rank == 1:
            raise KeyError("rank 1 alone")
        engine.barrier()

    with pytest.raises(KeyError, match="rank 1 alone"):
        run_threads(3, one_fails)


def test_an_engine_is_taken_as_it_is():
    engine = Alone()
    assert as_engine(engine) is engine
    assert ShardedTable(3, 1, engine).engine is engine
    with pytest.raises(SystemExit, match="enough"):
        engine.abort("enough")


def test_long_messages_of_errors_are_cut():
    def long(engine):
        table = ShardedTable(8, 1, engine)
        bad = LoDTensor([1], [[1]]) if engine.rank else "x" * 5000
        scenarios.raises(RankError if engine.rank else TypeError, lambda: table.embedding_bag(bad), "LoDTensor")

    run_threads(2, long)
