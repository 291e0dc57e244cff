"""The emulator of GPU kernels finds threads that do not wait, and those that wait for ever."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float32
from test_simt import FULL, SEEDS, floats, raises, tree_sum

pytest.importorskip("greenlet")
cuda = pytest.importorskip("numba.cuda")
simt = pytest.importorskip("simt")


@cuda.jit
def exchange_by_flag(flags, out):
    """Each block waits for the one after it, and each first warp for the second."""
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    after = b + 1 if b + 1 < cuda.gridDim.x else -1
    if t == 0:
        while after >= 0 and cuda.atomic.add(flags, after, 0) == 0:
            cuda.nanosleep(100)
        while cuda.atomic.add(flags, cuda.gridDim.x + b, 0) == 0:
            cuda.nanosleep(100)
        out[b] = b
        cuda.atomic.exch(flags, b, 1)
    if t == 32:
        cuda.atomic.exch(flags, cuda.gridDim.x + b, 1)
    cuda.syncthreads()


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_that_sleep_let_others_go_on(seed):
    out = np.full(5, -1)
    simt.run(exchange_by_flag, 5, 64, (np.zeros(10, np.int32), out), seed=seed)
    assert out.tolist() == [0, 1, 2, 3, 4]


@cuda.jit
def without_barrier(x, y):
    cells = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    cells[t] = x[t]
    y[t] = cells[t // 2]


def unsynchronised(seed):
    y = np.zeros(64, np.float32)
    simt.run(without_barrier, 1, 64, (floats(64), y), seed=seed)
    return y


def test_a_missing_barrier_shows_in_some_order():
    assert not np.isnan(unsynchronised(None)).any()
    assert all(np.isnan(unsynchronised(seed)).any() for seed in range(3))
    assert len({unsynchronised(seed).tobytes() for seed in range(8)}) > 1


@cuda.jit
def arrivals(order, count):
    order[cuda.atomic.add(count, 0, 1)] = cuda.grid(1)
    cuda.syncwarp()
    order[cuda.atomic.add(count, 0, 1)] = cuda.grid(1)


def arrived(seed):
    order = np.zeros(384, np.int64)
    simt.run(arrivals, 3, 64, (order, np.zeros(1, np.int32)), seed=seed)
    return order.tolist()


def test_equal_seeds_give_equal_orders():
    assert arrived(3) == arrived(3) != arrived(4)
    assert sorted(arrived(3)) == sorted(arrived(None)) == sorted(2 * [*range(192)])
    assert arrived(None)[:64] == 2 * [*range(32)]


@cuda.jit(device=True)
def meet():
    cuda.syncthreads()


@cuda.jit
def early_exit(n):
    if cuda.threadIdx.x < n:
        meet()


@cuda.jit
def two_barriers(n):
    if cuda.threadIdx.x < n:
        cuda.syncthreads_count(1)
    else:
        cuda.syncthreads()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_that_some_threads_never_reach(seed):
    with raises("divergent barrier; of the threads 40 wait at syncthreads in line .* of meet, 24 have exited; kernel"):
        simt.run(early_exit, 1, 64, (40,), seed=seed)
    with raises("divergent barrier; of the threads 3 wait at syncthreads_count in .*, 37 wait at syncthreads in line"):
        simt.run(two_barriers, 1, 40, (3,), seed=seed)


@cuda.jit
def warp_and_barrier(x):
    if cuda.laneid < 3:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deadlock_tells_who_waits_where(seed):
    waits = r"3 wait at syncthreads in line \d+ of warp_and_barrier, 29 wait at syncwarp\(0xffffffff\) in line"
    with raises(rf"deadlock; of the threads {waits} .*; kernel 'warp_and_barrier', block \(0, 0, 0\)"):
        simt.run(warp_and_barrier, 1, 32, (floats(1),), seed=seed)


def shuffling(shuffle):
    @cuda.jit
    def kernel(lanes):
        if cuda.laneid < lanes:
            shuffle(cuda.laneid)

    return kernel


@pytest.mark.parametrize(
    ("lanes", "shuffle", "message"),
    [
        (8, lambda lane: cuda.shfl_xor_sync(FULL, 1, 1), "shfl_xor_sync: lane 8, which the mask 0xffffffff names"),
        (32, lambda lane: cuda.shfl_sync(0xF, 1, 0), "shfl_sync: lane 4 needs lane 4, which is not in its mask 0xf"),
        (16, lambda lane: cuda.shfl_down_sync(0xFFFF, 1, 8), "shfl_down_sync: lane 8 needs lane 16, which is not in"),
        (2, lambda lane: cuda.shfl_sync(3 - lane, 1, lane), "lane 1, which .* 0x3 names, has exited; .* 31 have"),
        (2, lambda lane: cuda.any_sync(3, 1) if lane else cuda.all_sync(3, 1), "deadlock; .* 1 wait at any_sync.0x3."),
        (1, lambda lane: cuda.activemask(), "activemask: active lanes are undefined"),
        (1, lambda lane: cuda.match_all_sync(1, 1), "cuda.match_all_sync is not emulated"),
    ],
)
def test_warps_that_disagree(lanes, shuffle, message):
    with raises(message):
        simt.run(shuffling(shuffle), 1, 32, (lanes,))


def test_a_warp_that_is_not_whole_has_no_other_lanes():
    with raises("lane 20, which the mask 0xffffffff names, has exited"):
        simt.run(shuffling(lambda lane: cuda.syncwarp()), 1, 20, (32,))


@cuda.jit
def sleepers(flag):
    while flag[0] == 0:
        cuda.nanosleep(10)


def test_sleep_for_ever():
    with raises("threads sleep forever; of the threads 2 wait at nanosleep in line"):
        simt.run(sleepers, 2, 2, (np.zeros(1, np.int32),))


def test_an_error_leaves_nothing_behind():
    for _ in range(2):
        with raises("deadlock"):
            simt.run(warp_and_barrier, 1, 32, (floats(1),))
        out = np.zeros(4, np.float32)
        simt.run(tree_sum, 4, 64, (floats(256), out))
        assert out.sum() == floats(256).sum()
    assert all(not greenlet.dead for greenlets in simt._idle.values() for greenlet in greenlets)
