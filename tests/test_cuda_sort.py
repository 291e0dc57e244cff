"""Running sums and the radix sort on a GPU: in the emulator beside NumPy, and compiled."""

from __future__ import annotations

import enum
import importlib.util
import inspect
import itertools

import numpy as np
import pytest

pytest.importorskip("greenlet")
pytest.importorskip("numba_cuda")
pytest.importorskip("array_api_compat")

import emulated
from gpus import install

from lodkit.arrays.cuda import launcher, memory
from lodkit.arrays.cuda.launcher import BLOCK
from lodkit.kernels.cuda.primitives import cub, runs, scan, sort

SEEDS = (None, 1, 2)
SIZES = (1, 31, 32, 33, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5, 4 * BLOCK + 100)


def seeded(name, values):
    """Run a test with every value, and each of the seeds in turn."""
    cases = [(value, SEEDS[k % len(SEEDS)]) for k, value in enumerate(values)]
    return pytest.mark.parametrize((name, "gpu"), cases, indirect=["gpu"])


@pytest.fixture
def gpu(monkeypatch, request):
    """The emulated GPU; returns what makes a View of an array there. The parameter is a seed."""
    to_gpu = install(monkeypatch, "emulated", getattr(request, "param", None))
    return lambda array: memory.view(to_gpu(np.asarray(array)))


@pytest.fixture
def tiny_tiles(monkeypatch):
    """Tiles of a block's threads, and 3 chunks at most: 5 tiles are several of each."""
    monkeypatch.setattr(scan, "ITEMS", 1)
    monkeypatch.setattr(scan, "CHUNKS", 3)
    monkeypatch.setattr(sort, "ITEMS", 1)
    monkeypatch.setattr(sort, "WIDE_ITEMS", 1)


def check_offsets(gpu, lengths):
    found = scan.offsets_of(gpu(lengths)).read()
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def runs_of(pairs, height):
    """The Runs of sorted ids and their order."""
    return runs.found_runs(*sort.write_runs(pairs[0], height), pairs[1])


def check_sort(gpu, ids, height):
    """Sort; find the runs; both as NumPy does. Returns the type that the sort has chosen."""
    ids = np.asarray(ids)
    keys = np.where((ids < 0) | (ids >= height), height, ids.astype(np.int64))
    expected = np.argsort(keys, kind="stable")
    sorted_ids, order = sort.argsort(gpu(ids), height)
    np.testing.assert_array_equal(order.read(), expected)
    np.testing.assert_array_equal(sorted_ids.read(), keys[expected])
    rows, starts = np.unique(keys[expected][: np.count_nonzero(keys < height)], return_index=True)
    found = runs_of((sorted_ids, order), height)
    assert found.order is order and found.rows.dtype == found.offsets.dtype == np.int64
    np.testing.assert_array_equal(found.rows.read(), rows)
    np.testing.assert_array_equal(found.offsets.read(), [*starts, np.count_nonzero(keys < height)])
    assert sorted_ids.dtype == order.dtype
    return order.dtype


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@seeded("n", SIZES)
def test_offsets(n, dtype, gpu, tiny_tiles):
    check_offsets(gpu, np.random.default_rng(n).integers(0, 5, n).astype(dtype))


@seeded("n", [1, BLOCK * scan.ITEMS, BLOCK * scan.ITEMS + 1])
def test_offsets_above_2_to_31(n, gpu):
    check_offsets(gpu, np.random.default_rng(n).integers(0, 2**31, n).astype(np.int32))
    check_offsets(gpu, np.full(n, 2**40))


def test_offsets_of_no_lengths(gpu):
    assert scan.offsets_of(gpu(np.zeros(0, np.int32))).read().tolist() == [0]
    check_offsets(gpu, np.zeros(40, np.int32))


def test_there_are_never_more_chunks_than_a_tile_has_room_for():
    tile = BLOCK * scan.ITEMS
    for n in (1, tile, tile + 1, 10**6, 10**9, 2**40):
        chunk, chunks = scan.share(n, tile)
        assert chunk % tile == 0 and (chunks - 1) * chunk < n <= chunks * chunk
        assert chunks <= scan.CHUNKS <= tile


@seeded("n", SIZES)
def test_sizes(n, gpu, tiny_tiles):
    dtype = np.int32 if n % 2 else np.int64
    check_sort(gpu, np.random.default_rng(n).integers(0, 3 * n, n).astype(dtype), 3 * n)


@seeded("height", [1, 2, 255, 256, 257, 70_000, 2**31 - 1, 2**31, 2**31 + 5])
def test_heights(height, gpu, tiny_tiles):
    kind = check_sort(gpu, np.random.default_rng(height).integers(0, height, 300), height)
    assert kind == (np.int32 if height < 2**31 else np.int64)


PATTERNS = {
    "equal": np.full(600, 300),
    "ascending": np.arange(600),
    "descending": np.arange(600)[::-1],
    "duplicates": np.random.default_rng(0).integers(0, 30, 600),
    "power law": np.minimum(np.random.default_rng(0).zipf(1.2, 600), 5000) - 1,
    "largest": np.full(600, 4999),
}


@seeded("pattern", PATTERNS)
def test_patterns(pattern, gpu, tiny_tiles):
    check_sort(gpu, PATTERNS[pattern].astype(np.int32), 5000)


@seeded("height", [200, 300, 70_000])
def test_counts_of_many_chunks_are_summed(height, gpu, tiny_tiles, monkeypatch):
    """The sums themselves are NumPy's: 256 blocks take long in the emulator."""
    summed = []

    def sums_in_chunks(counts, chunk):
        summed.append(chunk)
        return gpu(np.cumsum(counts.read().reshape(-1, chunk), axis=1).ravel())

    monkeypatch.setattr(sort, "FEW_CHUNKS", 1)
    monkeypatch.setattr(sort, "sums_in_chunks", sums_in_chunks)
    check_sort(gpu, np.random.default_rng(0).integers(0, height, 700), height)
    assert set(summed) == {3}


@seeded("chunk", [1, 7, BLOCK, BLOCK + 1])
def test_sums_start_again_in_every_chunk(chunk, gpu, tiny_tiles):
    x = np.random.default_rng(0).integers(0, 2**40, 3 * chunk)
    expected = np.cumsum(x.reshape(-1, chunk), axis=1).ravel()
    np.testing.assert_array_equal(scan.sums_in_chunks(gpu(x), chunk).read(), expected)


@seeded("beyond", [-1, 0, 1])
def test_whole_tiles(gpu, beyond):
    n = BLOCK * sort.ITEMS + beyond
    check_sort(gpu, np.random.default_rng(n).integers(0, 200, n).astype(np.int32), 200)


@seeded("height", [0, 1, 256, 5000, 2**31 + 5])
def test_ids_outside_have_no_run(height, gpu, tiny_tiles):
    outside = [-1, height, height + 1, -(2**31), 2**31 - 1, 2**32, 2**32 + 1, 2**63 - 1, -(2**63)]
    ids = np.random.default_rng(height).choice([0, 1, 2, 255, 4999, height - 1, *outside], 400)
    check_sort(gpu, ids, height)


@pytest.mark.parametrize("gpu", [2], indirect=True)
def test_many_ids_have_wide_positions(gpu, tiny_tiles, monkeypatch):
    """As if 2^31 were 300."""
    monkeypatch.setattr(sort, "NARROW", 300)
    ids = np.random.default_rng(0).integers(0, 90, 300).astype(np.int32)
    assert check_sort(gpu, ids, 90) == np.int64
    assert check_sort(gpu, ids[:-1], 90) == np.int32


class Compute:
    """What lodkit uses of ``cuda.compute``: it sorts by some bits, keeps the order of equal ones, and says no more."""

    class SortOrder(enum.Enum):
        ASCENDING = 0

    def __init__(self):
        self.bits = []

    def radix_sort(
        self,
        *,
        d_in_keys,
        d_out_keys,
        d_in_values,
        d_out_values,
        num_items,
        order,
        begin_bit=None,
        end_bit=None,
        stream=None,
    ):
        assert order is self.SortOrder.ASCENDING and stream.__cuda_stream__() == (0, 0)
        assert len({a.__cuda_array_interface__["typestr"] for a in (d_in_keys, d_in_values)}) == 1
        keys, values = (a.numpy[:num_items] for a in (d_in_keys, d_in_values))
        by = np.argsort((keys >> begin_bit) & ((1 << (end_bit - begin_bit)) - 1), kind="stable")
        d_out_keys.numpy[:], d_out_values.numpy[:] = keys[by], values[by]
        self.bits.append(end_bit)


@seeded("height", [1, 256, 5000, 2**31 - 1, 2**31 + 5])
def test_cub_sorts_where_it_is_installed(height, gpu, tiny_tiles, monkeypatch):
    found = Compute()
    monkeypatch.setattr(cub, "compute", lambda: found)
    monkeypatch.setattr(cub, "MIN_SORTED_IDS", 300)
    ids = np.random.default_rng(height).choice([0, height - 1, height, height // 2, -1, 2**40], 300)
    check_sort(gpu, ids, height)
    assert found.bits == [height.bit_length()]
    check_sort(gpu, ids[1:], height)
    assert len(found.bits) == 1


def test_the_stand_in_for_cub_takes_what_cub_takes():
    """Needs cuda-cccl and a driver."""
    if cub.compute() is None:
        pytest.skip("cuda.compute is not installed, or finds no driver")
    theirs, ours = (inspect.signature(x.radix_sort).parameters for x in (cub.compute(), Compute()))
    assert set(ours) <= set(theirs) and cub.compute().SortOrder.ASCENDING


def test_memory_for_runs_that_are_few_is_given_back(gpu, tiny_tiles, monkeypatch):
    copies, copied = [], runs.copy_elements
    monkeypatch.setattr(runs, "MAX_SPARE_BYTES", 50)
    monkeypatch.setattr(runs, "copy_elements", lambda x, out: copies.append(len(out)) or copied(x, out))
    for ids, sizes in ([3, 1, 3] * 20, [2, 3]), (np.arange(60), []):
        found = runs_of(sort.argsort(gpu(np.array(ids)), 60), 60)
        assert copies == sizes
        assert found.rows.read().tolist() == sorted(set(ids))
        copies.clear()


def test_nothing_but_ids_outside(gpu, tiny_tiles):
    check_sort(gpu, np.full(5, 7), 7)


def test_no_ids(gpu, monkeypatch):
    check_sort(gpu, np.zeros(0, np.int32), 10)
    monkeypatch.setattr(launcher, "runner", None)
    sort.argsort(gpu(np.zeros(0, np.int32)), 10)


def test_the_host_waits_once(gpu, monkeypatch):
    """For numbers that are written to its memory; none are read from the device."""
    waits = []
    monkeypatch.setattr(emulated.Library, "read", lambda library, x: pytest.fail("numbers are read"))
    monkeypatch.setattr(emulated.Library, "wait", lambda library, device: waits.append(device))
    scan.offsets_of(gpu(np.ones(10, np.int32)))
    pairs = sort.argsort(gpu(np.arange(10)), 10)
    assert not waits
    runs_of(pairs, 10)
    assert waits == [0]


@pytest.fixture(scope="module")
def launched():
    """All kernels, with the types that they can be launched with."""
    found, emulate = {}, emulated.Launcher(None)

    def note(kernel, blocks, block, args, exact):
        found[kernel, tuple(map(launcher.type_name, args))] = None

    def run(*call):
        note(*call)
        emulate(*call)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(memory.LIBRARIES, "emulated", emulated.Library)
        for dtype in (np.int32, np.int64):
            patch.setattr(launcher, "runner", run)
            ids = memory.view(emulated.to_gpu(np.zeros(BLOCK * scan.ITEMS + 1, dtype)))
            scan.offsets_of(ids)
            runs_of((ids, ids), 1)
            patch.setattr(launcher, "runner", note)
            many = memory.view(emulated.to_gpu(np.zeros(12 * BLOCK, dtype)))
            for few, height in itertools.product((0, 1, 16), (256, 2**31)):  # in several passes, and tiles of any size
                patch.setattr(sort, "FEW_CHUNKS", few)
                sort.argsort(ids, height)
                sort.argsort(many, height)
                cub._keys(1, ids, height, ids, ids)
    return list(found)


@pytest.mark.jit
@pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="the CUDA compiler is not installed")
def test_machine_code(launched):
    """Four blocks at once have enough registers, and shared memory fits without being asked for.

    What counts a pass ahead has a multiprocessor for each block.
    """
    assert len(launched) > 20
    kinds = itertools.product((True, False), (np.int32, np.int64), (4, 8, 16))
    alone = {sort.scatter_kernel(first, False, True, kind, items) for first, kind, items in kinds}
    for (kernel, names), capability in itertools.product(launched, [(8, 0), (9, 0)]):
        report = launcher.machine_code(kernel, names, capability)[2]
        where = kernel.py_func.__qualname__, names, report
        assert report["stack"] == report["spills"] == report["doubles"] == 0, where
        assert report["registers"] <= (128 if kernel in alone else 64), where
