"""Reductions at sizes that samples do not have: long segments go in tiles, and threads change no bit."""

from __future__ import annotations

import numpy as np
import pytest
from samples import ALL_TYPES, FEW_KERNELS, some_of

import lodkit
from lodkit.jit import settings
from lodkit.kernels.cpu.primitives import reduce as reduce_module
from lodkit.kernels.cpu.primitives.reduce import TILE
from lodkit.lod.offsets import tiles_of

REDUCERS = ("sum", "mean", "sqrt", "max", "min", "logsumexp", "first", "last")


@pytest.fixture(params=["threads", "alone"])
def small_pieces(request, monkeypatch):
    monkeypatch.setattr(settings, "parallel_from", 0 if request.param == "threads" else 1 << 60)
    monkeypatch.setattr(settings, "near_bytes", -1)
    monkeypatch.setattr(settings, "mid_bytes", -1)
    if ALL_TYPES:  # kernels of their own prefetch
        monkeypatch.setattr(settings, "fetch_from", 0)
    monkeypatch.setattr(settings, "chunk_rows", 2)
    monkeypatch.setattr(settings, "block_rows", 4)
    return 2 * TILE


def long_segments(size):
    """No rows, fewer than a tile, a tile, one more, and several tiles with and without a rest."""
    return np.array([0, 5, size, 0, size + 1, 3 * size, 3 * size + 7, 0])


def test_pieces_cover_every_segment_in_order():
    offsets = np.cumsum([0, *long_segments(8)])
    tiles, tile_offsets = tiles_of(offsets, 8)
    assert np.diff(tiles).max() == 8 and np.diff(tiles).min() > 0
    np.testing.assert_array_equal(tiles[tile_offsets], offsets)
    assert len(tiles_of(np.array([0, 8, 8, 16]), 8)[0]) == 0


#: Types and items in turn, and threads, whose rows are summed whole by code of its own, with one of them for each.
#: All tests here have rows of one number or of three, as do many samples: each number of columns has code of its own.
TYPES = (("float32", ()), ("float32", (3,)), ("float16", (3,)), ("float64", ()), ("int32", (3,)))
THREADS = dict(zip(REDUCERS, (1, 2, 3, 1, 4, 1, 2, 3), strict=True))


def long_cases():
    for reduce in REDUCERS:
        for i, (dtype, item) in enumerate(TYPES[:2] if FEW_KERNELS else TYPES):
            if dtype != "int32" or reduce not in ("mean", "sqrt", "logsumexp"):  # no meaning for integers
                yield reduce, dtype, item, "alone"
                if i == THREADS[reduce]:
                    yield reduce, dtype, item, "threads"


@pytest.mark.parametrize(("reduce", "dtype", "item", "small_pieces"), [*long_cases()], indirect=["small_pieces"])
def test_long_segments_equal_the_definition(reduce, dtype, item, small_pieces):
    lengths = long_segments(small_pieces)
    rng = np.random.default_rng(0)
    x = lodkit.LoDTensor((rng.normal(size=(lengths.sum(), *item)) * 4).astype(dtype), [lengths])
    got = lodkit.sequence_pool(x, pool=reduce, pad_value=3)
    expected = lodkit.sequence_pool.definition(x, pool=reduce, pad_value=3)
    rtol = {"float16": 2e-3, "float32": 1e-5}.get(dtype, 1e-12)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    assert got.dtype == expected.dtype


@pytest.mark.parametrize("pool", ["sum", "mean"])
def test_long_weighted_bags_equal_the_definition(pool, small_pieces):
    """Weights of a tile may add up to nothing while its rows do not."""
    lengths = long_segments(small_pieces)
    rng = np.random.default_rng(1)
    table = rng.normal(size=(9, 3))
    bags = lodkit.LoDTensor(rng.integers(0, 9, lengths.sum()), [lengths])
    weights = np.resize([1.0, -1.0], lengths.sum())
    weights[::7] = 2.0
    got = lodkit.embedding_bag(table, bags, weights, pool=pool, padding_idx=2)
    expected = lodkit.embedding_bag.definition(table, bags, weights, pool=pool, padding_idx=2)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("pool", "small_pieces"),
    [*((pool, "alone") for pool in REDUCERS), ("sum", "threads"), ("max", "threads")],
    indirect=["small_pieces"],
)
def test_nan_and_infinities_survive_pieces(pool, small_pieces):
    values = np.ones((4 * small_pieces, 3), np.float32)
    values[small_pieces + 1, 0], values[-1, 1] = np.nan, -np.inf
    x = lodkit.LoDTensor(values, [[len(values)]])
    np.testing.assert_allclose(
        lodkit.sequence_pool(x, pool=pool), lodkit.sequence_pool.definition(x, pool=pool), rtol=1e-6
    )


@pytest.mark.jit
@pytest.mark.parametrize(
    ("pool", "shape"),
    [*((pool, (1 << 20,)) for pool in REDUCERS), *((pool, (1 << 17, 3)) for pool in ("mean", "max", "logsumexp"))],
)
def test_threads_change_no_bit_of_a_long_segment(pool, shape, monkeypatch):
    rng = np.random.default_rng(2)
    x = lodkit.LoDTensor(rng.normal(size=shape).astype(np.float32), [[shape[0] - 10, 10]])
    results = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(settings, "parallel_from", least)
        results.append(lodkit.sequence_pool(x, pool=pool).tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("dtype", "large"), [("float32", 1e8), ("float32", 1e6), ("float16", 1000.0), ("float64", 1e15)]
)
def test_the_gradient_of_logsumexp_of_large_values(dtype, large):
    x = lodkit.LoDTensor(np.array([[large], [large], [1.0]], dtype), [[2, 1]])
    out = lodkit.sequence_pool(x, pool="logsumexp")
    got = lodkit.sequence_pool_grad(x, out, np.ones((2, 1), dtype), pool="logsumexp").values
    assert got.ravel().tolist() == [0.5, 0.5, 1.0]


def test_the_gradient_of_logsumexp_at_the_ends():
    inf, nan = np.inf, np.nan
    values = np.array([[inf, -inf, nan, 1.0], [inf, -inf, inf, -inf], [0.0, -inf, 1.0, nan]])
    x = lodkit.LoDTensor(np.tile(values, (1, 5)), [[3]])
    out = lodkit.sequence_pool(x, pool="logsumexp")
    args = x, out, np.full(out.shape, 2.0)
    got = lodkit.sequence_pool_grad(*args, pool="logsumexp").values[:, :4]
    np.testing.assert_array_equal(got, [[1, 0, nan, nan], [1, 0, nan, nan], [0, 0, nan, nan]])
    expected = lodkit.sequence_pool_grad.definition(*args, pool="logsumexp").values[:, :4]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.jit
@pytest.mark.parametrize("reduce", ["sum", "max", "logsumexp"])
def test_rows_astride_cache_lines(reduce):
    """Kernels of their own from 4 MiB up; the bits are the same."""
    room = lodkit.empty(70_000 * 16 + 4)
    ids = np.random.default_rng(0).integers(0, 70_000, 500)
    found = []
    for first in (0, 4):
        table = room[first : first + 70_000 * 16].reshape(-1, 16)
        table[...] = np.arange(table.size).reshape(table.shape) % 97
        assert (table.ctypes.data % 64 > 0) == (first > 0)
        found.append(lodkit.segment_reduce(table, np.full(50, 10), None, ids, by="lengths", reduce=reduce))
    np.testing.assert_array_equal(*found)
    if reduce == "max":
        np.testing.assert_array_equal(found[0], table[ids].reshape(50, 10, 16).max(axis=1))


def test_padding_is_an_integer_that_floating_numbers_do_not_hold():
    x = lodkit.LoDTensor(np.array([1, 2]), [[2, 0]])
    for number in (2**53 + 1, 2**63 - 1, -(2**63)):
        assert lodkit.sequence_pool(x, pool="sum", pad_value=number).tolist() == [3, number]
    with pytest.raises(ValueError, match="pad_value 9223372036854775808 is no value of int64"):
        lodkit.sequence_pool(x, pool="sum", pad_value=2**63)


TABLE = np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32)
UNALIGNED = np.zeros(TABLE.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(TABLE.shape)
LAYOUTS = {
    "columns astride": np.repeat(TABLE, 2, axis=1)[:, ::2],
    "rows astride": np.repeat(TABLE, 2, axis=0)[::2],
    "Fortran": np.asfortranarray(TABLE),
    "byte order": TABLE.astype(">f4"),
    "not aligned": UNALIGNED,
    "many dimensions": np.repeat(TABLE.reshape(40, 2, 3), 2, axis=1)[:, ::2],
}
UNALIGNED[...] = TABLE


@pytest.mark.parametrize("count", [12, 90], ids=["fewer ids than rows", "more"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_a_table_changes_no_bit(layout, count):
    """With few ids and with many, after a call with a plain table, whose compiled code takes its layout for granted."""
    table, ids = LAYOUTS[layout], lodkit.LoDTensor(np.arange(count) * 7 % 40, [[count - 5, 0, 5]])
    for attrs in ({}, {"padding_idx": 7, "pool": "max"}):
        plain = np.ascontiguousarray(table, np.float32)
        expected = lodkit.embedding_bag(TABLE.reshape(plain.shape), ids, **attrs)
        np.testing.assert_array_equal(lodkit.embedding_bag(table, ids, **attrs), expected)
        out = np.zeros(expected.size * 4 + 1, np.uint8)[1:].view(np.float32).reshape(expected.shape)
        np.testing.assert_array_equal(lodkit.embedding_bag(table, ids, **attrs, out=out), expected)
    np.testing.assert_array_equal(lodkit.lookup_table(table, ids.values), plain[ids.values])


@pytest.mark.parametrize("pool", ["sum", "mean", "max", "logsumexp"])
def test_an_id_outside_a_long_bag_raises_before_the_output_is_written(pool, small_pieces):
    """Neither in a tile, nor in a bag beside it, nor in one whose weights are zero."""
    lengths = [3, 3 * small_pieces, 2]
    for at in (1, small_pieces, sum(lengths) - 1):
        for wrong in (-1, 40, 2**62, -(2**63)):
            ids = np.zeros(sum(lengths), np.int64)
            ids[at] = wrong
            bags, out = lodkit.LoDTensor(ids, [lengths]), np.full((3, 6), 9, np.float32)
            for attrs in ({}, {"out": out}):
                with pytest.raises(lodkit.RowIndexError, match=rf"ids\[{at}\] = {wrong}\b"):
                    lodkit.embedding_bag(TABLE, bags, pool=pool, **attrs)
            assert (out == 9).all()
            if pool == "mean":
                with pytest.raises(lodkit.RowIndexError, match=rf"ids\[{at}\] = {wrong}\b"):
                    lodkit.embedding_bag(TABLE, bags, np.zeros(len(ids), np.float32), pool=pool)
    with pytest.raises(lodkit.RowIndexError, match=r"ids\[0\] = 0"):
        lodkit.embedding_bag(TABLE[:0], lodkit.LoDTensor([0], [[1]]), pool=pool)


def test_a_plan_holds_no_numbers(forget_plans):
    """A pad value may be another one at every call, or a NaN, which equals nothing."""
    forget_plans()
    x = lodkit.LoDTensor(TABLE[:3], [[0, 3]])
    for pad in (0.0, 2, np.nan, 0.5, np.float32(7), np.nan):
        assert np.array_equal(lodkit.sequence_pool(x, pool="max", pad_value=pad)[0], [pad] * 6, equal_nan=True)
    assert len(reduce_module.plans) == 1
    assert lodkit.sequence_pool(x, pad_value=0.5).tolist()[0] == [0.5] * 6 and len(reduce_module.plans) == 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("pool", ["sum", "mean", "sqrt"])
def test_chunks_of_single_rows_beside_others(pool, dtype, monkeypatch):
    """A chunk whose segments have a row each has a loop of its own: the bits of a row that is added to 0."""
    monkeypatch.setattr(settings, "chunk_rows", 8)
    rng = np.random.default_rng(0)
    table, lengths = (rng.normal(size=(30, 5)) * 4).astype(dtype), np.ones(100, int)
    table[3], table[7, :2], lengths[[40, 60, 61]] = -0.0, (np.nan, np.inf), (0, 3, 2)
    ids = rng.integers(0, 30, lengths.sum())
    ids[:4] = 3, 7, 11, 3
    for padding_idx in (None, 11):
        found = lodkit.embedding_bag(table, lodkit.LoDTensor(ids, [lengths]), pool=pool, padding_idx=padding_idx)
        for bag, row in zip(np.split(ids, np.cumsum(lengths)[:-1]), found, strict=True):
            alone = lodkit.LoDTensor(np.append(bag, bag[:0]), [[0, len(bag), 0]])
            expected = lodkit.embedding_bag(table, alone, pool=pool, padding_idx=padding_idx)[1]
            np.testing.assert_array_equal(row.view(np.uint8), expected.view(np.uint8))
            if len(bag) == 1:
                plain = np.zeros(5, dtype) if bag[0] == padding_idx else table[bag[0]] + np.zeros(5, dtype)
                np.testing.assert_array_equal(row, plain)
                assert not np.signbit(row[row == 0]).any()


@pytest.mark.parametrize("bad", [5, -1, 2**62])
def test_single_ids_that_are_no_rows_are_refused(bad):
    ids = np.arange(1000) % 5
    ids[700] = bad
    with pytest.raises(IndexError, match="700"):
        lodkit.embedding_bag(np.ones((5, 3)), lodkit.LoDTensor(ids, [np.ones(1000, int)]))


@pytest.mark.jit
@pytest.mark.parametrize("pool", some_of(["sum", "max", "logsumexp"], 3))
def test_the_last_strip_of_columns_overlaps_the_one_before(pool, monkeypatch, forget_plans):
    """Seven columns in strips of four, and one by one."""
    values = np.random.default_rng(0).normal(size=(9, 7)).astype(np.float32)
    x, bags = lodkit.LoDTensor(values, [[4, 0, 5]]), lodkit.LoDTensor([8, 0, 0, 3], [[3, 0, 1]])
    calls = (lambda: lodkit.sequence_pool(x, pool=pool)), (lambda: lodkit.embedding_bag(values, bags, pool=pool))
    results = []
    for widths in ((4, 1), (1,)):
        monkeypatch.setattr(reduce_module, "tuning", reduce_module.tuning._replace(strip_bytes=0))
        monkeypatch.setattr(reduce_module, "WIDTHS", widths)
        forget_plans()
        results.append([call() for call in calls])
        assert {plan.lanes for sizes in reduce_module.plans.values() for plan in sizes.values()} == {widths[0]}
    expected = [lodkit.sequence_pool.definition(x, pool=pool), lodkit.embedding_bag.definition(values, bags, pool=pool)]
    for strips, columns, result in zip(*results, expected, strict=True):
        np.testing.assert_array_equal(strips, columns)
        np.testing.assert_allclose(strips, result, rtol=2e-6, atol=1e-6)
