"""Settings of a kind of CPU change no result."""

from __future__ import annotations

import inspect
from collections import Counter

import numpy as np
import pytest
from calls import functions_of
from conftest import with_all_types
from samples import some_of

import lodkit
from lodkit.jit import limits, settings, simd
from lodkit.jit.tuning import CPUS, Tuning, tuning, tuning_of
from lodkit.kernels.cpu.primitives import flat_kernels, reduce, reduce_kernels
from lodkit.kernels.cpu.primitives.row_access import Prefetch

rng = np.random.default_rng(0)
LENGTHS = rng.integers(0, 200, 40)  # segments of more than a block, and empty ones
IDS = rng.integers(0, 100, LENGTHS.sum())


def sums(columns, dtype, pool="sum"):
    table = np.random.default_rng(1).standard_normal((100, columns)).astype(dtype)
    return lodkit.embedding_bag(table, lodkit.LoDTensor(IDS, [LENGTHS]), pool=pool)


@pytest.fixture
def far(monkeypatch, forget_plans):
    """Prefetch whatever the size, and take rows whole, as large batches do."""
    monkeypatch.setattr(reduce, "tuning", tuning)
    forget_plans()
    monkeypatch.setattr(settings, "parallel_from", 0)
    monkeypatch.setattr(settings, "near_bytes", -1)
    monkeypatch.setattr(settings, "mid_bytes", -1)
    monkeypatch.setattr(settings, "fetch_from", 0)


@pytest.mark.jit
@pytest.mark.parametrize("cpu", some_of([*CPUS, "another"], 6))
def test_each_entry_gives_the_same_bits(cpu, monkeypatch, far, forget_plans):
    """And a call with each passes as few functions."""
    expected, table, bags = sums(40, np.float32), np.ones((100, 40), np.float32), lodkit.LoDTensor(IDS, [LENGTHS])
    monkeypatch.setattr(reduce, "tuning", tuning_of(cpu))
    forget_plans()
    for mid_bytes in (-1, 1 << 60):
        monkeypatch.setattr(settings, "mid_bytes", mid_bytes)
        np.testing.assert_array_equal(sums(40, np.float32), expected)
        assert reduce.plans and len(functions_of(lambda: lodkit.embedding_bag(table, bags))) <= 8


@pytest.mark.jit
@pytest.mark.parametrize("pool", some_of(["sum", "max"], 2))
def test_numbers_that_are_asked_for_ahead_give_the_same_bits(pool, monkeypatch, far, forget_plans):
    numbers = rng.standard_normal(6000).astype(np.float32)
    x = lodkit.LoDTensor(numbers, [[33, 0, 64, 5000, 1, 95, 807]])
    results = []
    try:
        for ahead, of_sums in ((0, 0), (1024, 0), (1 << 40, 0), (0, 32), (0, 1 << 40)):
            monkeypatch.setattr(flat_kernels, "tuning", Tuning(numbers_ahead=ahead, sums_ahead=of_sums))
            flat_kernels.flat_kernel.cache_clear()
            forget_plans()
            results.append(lodkit.sequence_pool(x, pool=pool, pad_value=7))
            run = inspect.getclosurevars(flat_kernels.flat_kernel(pool).compiled.py_func).nonlocals["run"]
            used, masked = inspect.getclosurevars(getattr(run, "py_func", run)).nonlocals, of_sums * (pool == "sum")
            assert (used["ahead"], used["masked"]) == (masked or ahead, masked)
    finally:
        flat_kernels.flat_kernel.cache_clear()
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


# A type and a number of columns for each pool, and each of its own: a kernel to compile.
@with_all_types
@pytest.mark.parametrize(
    ("pool", "columns", "dtype"), [("sum", 17, "float64"), ("max", 40, "float16"), ("logsumexp", 100, "float32")]
)
def test_whole_rows_and_prefetches_change_no_bit(pool, columns, dtype, monkeypatch, far):
    whole = sums(columns, dtype, pool)
    monkeypatch.setattr(settings, "near_bytes", 1 << 60)
    np.testing.assert_array_equal(sums(columns, dtype, pool), whole)
    monkeypatch.setattr(settings, "parallel_from", 1 << 60)
    np.testing.assert_array_equal(sums(columns, dtype, pool), whole)


@with_all_types
@pytest.mark.parametrize(
    ("pool", "columns", "dtype"), [("sum", 100, "float32"), ("max", 48, "float64"), ("logsumexp", 96, "float32")]
)
def test_prefetches_for_several_threads_change_no_bit(pool, columns, dtype, monkeypatch, far, forget_plans):
    monkeypatch.setattr(limits, "threads", 1)
    alone = sums(columns, dtype, pool)
    monkeypatch.setattr(limits, "threads", 2)
    for rows in (0, 1, 36, 1 << 40):
        monkeypatch.setattr(reduce, "tuning", tuning._replace(shared_rows_ahead=rows))
        forget_plans()
        np.testing.assert_array_equal(sums(columns, dtype, pool), alone)


@with_all_types
def test_only_what_is_not_in_the_cache_is_fetched_ahead(monkeypatch, far, forget_plans):
    """By the size of the table, or of the values."""
    distances = []
    for near_bytes in (15_999, 16_000):
        monkeypatch.setattr(settings, "near_bytes", near_bytes)
        forget_plans()
        sums(40, np.float32)
        lodkit.sequence_pool(lodkit.LoDTensor(np.ones((100, 40), np.float32), [[100]]))
        distances.append(
            [plan.distance > 0 for sizes in reduce.plans.values() for (_, reach), plan in sizes.items() if reach]
        )
    assert distances == [[True, True], [False, False]]


def test_rows_ahead_follow_their_bytes():
    cpu = Tuning(
        bytes_ahead=1 << 14, wide_bytes_ahead=1 << 13, rows_ahead=100, second_distance=8, wide_second_distance=12
    )
    assert [cpu.distance_of(b) for b in (0, 4, 192, 256, 512, 1 << 20)] == [100, 100, 85, 32, 16, 8]
    assert [cpu.distances_by_id(b, shared=False) for b in (4, 255, 256, 512)] == [(100, 8), (64, 8), (32, 12), (16, 10)]
    assert cpu._replace(shared_rows_ahead=36).distances_by_id(512, shared=True) == (36, 22)
    cached, beyond = cpu._replace(cached_rows_ahead=16), [(False, False), (True, False), (True, True)]
    assert [[cached.distance_in_cache(b, *where) for where in beyond] for b in (64, 128)] == [[0, 0, 16], [0, 16, 16]]
    assert cpu.distance_in_cache(128, True, True) == 0
    first_level = cached._replace(cached_level=3)
    assert [first_level.distance_in_cache(b, True, True) for b in (64, 1024, 4096)] == [16, 8, 4]


def prefetch_of(reducer, size, table, gather):
    return reduce.choose_prefetch(reducer, table.strides[0], gather, reduce.reach_of(table.nbytes, size, gather))


def test_rows_ahead_follow_the_size_of_the_table_and_the_order_of_rows(monkeypatch):
    cpu = Tuning(
        bytes_ahead=1 << 14, wide_bytes_ahead=1 << 14, cached_rows_ahead=11, rows_in_order=20, second_distance=9
    )
    monkeypatch.setattr(reduce, "tuning", cpu)
    monkeypatch.setattr(settings, "near_bytes", 1000)
    monkeypatch.setattr(settings, "mid_bytes", 100_000)
    found = []
    for height in (5, 250, 1000):
        table = np.ones((height, 50), np.float32)  # 200 bytes a row
        given = [("sum", True), ("sum", False), ("logsumexp", False)]
        found.append([prefetch_of(reducer, 10_000, table, gather) for reducer, gather in given])
    none, all_lines, alternate, twice = (), (2,), (2, True), (2, False, True)
    ways = [[none] * 3, [alternate, all_lines, all_lines], [twice, all_lines, all_lines]]
    rows = [[(0, 0)] * 3, [(11, 0), (20, 0), (64, 0)], [(64, 9), (20, 0), (64, 0)]]
    assert [[how for how, *_ in line] for line in found] == [[Prefetch(*way) for way in line] for line in ways]
    assert [[tuple(rest) for _, *rest in line] for line in found] == rows
    assert reduce.choose_prefetch("sum", 200, True, None) == (Prefetch(), 0, 0)
    monkeypatch.setattr(reduce, "tuning", cpu._replace(cached_level=3))
    assert prefetch_of("sum", 10_000, np.ones((250, 50), np.float32), True) == (Prefetch(3, astride=False), 11, 0)


@pytest.mark.parametrize(("threads", "ahead", "expected"), [(1, 30, (64, 0)), (2, 0, (64, 0)), (2, 30, (30, 18))])
def test_rows_ahead_of_several_threads(threads, ahead, expected, monkeypatch):
    """By every second line for wide rows by ids, of a table in memory, in a call that threads share."""
    monkeypatch.setattr(settings, "near_bytes", 1000)
    monkeypatch.setattr(settings, "mid_bytes", 100_000)
    monkeypatch.setattr(reduce, "tuning", Tuning(shared_rows_ahead=ahead))
    monkeypatch.setattr(limits, "threads", threads)
    small, table, narrow = np.ones((100, 96)), np.ones((1000, 48)), np.ones((1000, 47))
    many, few = 1 << 20, settings.parallel_from - 1
    shared = expected[1] > 0
    assert prefetch_of("sum", many, table, True) == (Prefetch(2, shared, shared), *expected)
    others = (many, narrow, True), (few, table, True), (many, table, False), (many, small, True)
    assert not any(prefetch_of("sum", *given)[0].alternate for given in others)


def test_another_cpu_has_the_default_settings():
    assert tuning_of("another") == tuning_of("rocketlake", ["avx512f", "sse2"]) == Tuning()


def test_a_cpu_whose_model_is_hidden_has_the_settings_of_its_instructions():
    assert tuning_of("rocketlake", ["avx512f", "avx512fp16"]) is CPUS["emeraldrapids"]
    assert tuning_of("znver4", ["avx512fp16"]) is CPUS["znver4"]


@pytest.mark.parametrize(
    ("gather", "prefetch", "ahead"),
    [
        (True, Prefetch(2), (20, 0)),
        (True, Prefetch(2, again=True), (20, 5)),
        (False, Prefetch(2), (20, 0)),
        (True, Prefetch(2, alternate=True, again=True), (20, 12)),
    ],
)
def test_rows_of_long_segments_are_prefetched(gather, prefetch, ahead, monkeypatch):
    """All but the first ones, those of the last block, and none that is not there; twice where it is said."""
    values, ids, fetched = np.ones((300, 4), np.float32), np.arange(300), []
    for name in ("prefetch_lanes", "prefetch_alternate"):
        monkeypatch.setattr(simd, name, lambda values, row, *others: fetched.append(int(row)))
    for make in (
        lambda: reduce_kernels.sum_kernel.__wrapped__("sum", 4, gather, False, prefetch),
        lambda: reduce_kernels.extreme_kernel.__wrapped__("max", 4, gather, prefetch),
        lambda: reduce_kernels.logsumexp_kernel.__wrapped__(4, gather, prefetch),
    ):
        fetched.clear()
        out = np.empty((2, 4), np.float32)
        offsets, given = np.array([0, 299, 300]), (np.float32(0), 0, 4096, 64, *ahead)
        make().py_func(values, ids if gather else reduce.NO_IDS, reduce.NO_WEIGHTS, -1, offsets, *given, out)
        counts, times = Counter(fetched), 1 + (ahead[1] > 0)
        assert all(counts[row] >= times for row in range(21, 300 - 64))
        assert set(counts) <= set(range(300))
