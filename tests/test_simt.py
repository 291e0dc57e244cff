"""The emulator of GPU kernels computes what a GPU would, and finds what a GPU would let pass."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float32, int32

pytest.importorskip("greenlet")
cuda = pytest.importorskip("numba.cuda")
simt = pytest.importorskip("simt")

FULL = 0xFFFFFFFF
SEEDS = (None, 0, 1, 2)


def floats(count):
    return np.arange(1, count + 1, dtype=np.float32)


def raises(pattern):
    return pytest.raises(simt.SimError, match=pattern)


def copy(x, y, n):
    i = cuda.grid(1)
    while i < n:
        y[i] = x[i]
        i += cuda.gridsize(1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", [copy, cuda.jit(copy)])
def test_a_grid_stride_loop_copies(kernel, seed):
    x, y = floats(1000), np.zeros(1000, np.float32)
    simt.run(kernel, 3, 64, (x, simt.Pointer(y), 1000), seed=seed)
    np.testing.assert_array_equal(y, x)


@cuda.jit
def tree_sum(x, out):
    cells = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    cells[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            cells[t] += cells[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = cells[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_sums_in_shared_memory(seed):
    x, out = floats(256), np.zeros(4, np.float32)
    simt.run(tree_sum, 4, 64, (x, out), seed=seed)
    assert out.tolist() == x.reshape(4, 64).sum(1).tolist()


@cuda.jit
def shuffles(x, out):
    lane = cuda.laneid
    total = x[lane]
    step = 16
    while step > 0:
        total += cuda.shfl_xor_sync(FULL, total, step)
        step >>= 1
    out[lane] = total
    out[32 + lane] = cuda.shfl_up_sync(FULL, x[lane], 3)
    out[64 + lane] = cuda.shfl_down_sync(FULL, x[lane], 3)
    out[96 + lane] = cuda.shfl_sync(FULL, x[lane], 5)
    cuda.syncwarp()


@pytest.mark.parametrize("seed", SEEDS)
def test_warps_shuffle(seed):
    x, out = floats(32), np.zeros((4, 32), np.float32)
    simt.run(shuffles, 1, 32, (x, out), seed=seed)
    assert (out[0] == x.sum()).all()
    assert out[1].tolist() == [*x[:3], *x[:-3]]
    assert out[2].tolist() == [*x[3:], *x[-3:]]
    assert (out[3] == x[5]).all()


@cuda.jit
def ranks(keys, rank, votes):
    """The number of lanes before this one with the same key; halves of the warp vote apart."""
    lane = cuda.laneid
    rank[lane] = cuda.popc(cuda.match_any_sync(FULL, keys[lane]) & cuda.lanemask_lt())
    if lane < 16:
        votes[lane] = cuda.ballot_sync(0xFFFF, keys[lane] == 0)
    else:
        votes[lane] = cuda.ballot_sync(0xFFFF0000, True)
    votes[32 + lane] = cuda.any_sync(FULL, keys[lane] == 7)
    votes[64 + lane] = cuda.all_sync(FULL, keys[lane] < 7)


@pytest.mark.parametrize("seed", SEEDS)
def test_warps_vote(seed):
    keys = np.random.default_rng(0).integers(0, 4, 32)
    rank, votes = np.zeros(32, np.int64), np.zeros((3, 32), np.int64)
    simt.run(ranks, 1, 32, (keys, rank, votes), seed=seed)
    assert rank.tolist() == [(keys[:i] == key).sum() for i, key in enumerate(keys)]
    assert (votes[0, :16] == sum(1 << i for i in range(16) if keys[i] == 0)).all()
    assert (votes[0, 16:] == -(1 << 16)).all()  # an int32, as compiled code has it
    assert not votes[1].any() and votes[2].all()


@cuda.jit
def block_votes(out):
    t = cuda.threadIdx.x
    out[t] = cuda.syncthreads_count(t < 5)
    out[40 + t] = cuda.syncthreads_and(t < 5)
    out[80 + t] = cuda.syncthreads_or(t < 5)


def test_blocks_vote():
    out = np.zeros((3, 40), np.int64)
    simt.run(block_votes, 1, 40, (out,), seed=1)
    assert (out == [[5], [0], [1]]).all()


@cuda.jit
def histogram(keys, n, counts):
    cells = cuda.shared.array(0, int32)
    for i in range(cuda.threadIdx.x, 8, cuda.blockDim.x):
        cells[i] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(cells, keys[i], 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 8:
        cuda.atomic.add(counts, cuda.threadIdx.x, cells[cuda.threadIdx.x])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_histogram_in_dynamic_shared_memory(seed):
    keys = np.random.default_rng(0).integers(0, 8, 300)
    counts = np.zeros(8, np.int32)
    simt.run(histogram, 3, 128, (keys, len(keys), counts), shared=32, seed=seed)
    np.testing.assert_array_equal(counts, np.bincount(keys, minlength=8))


def test_dynamic_shared_memory_has_the_size_of_the_launch():
    with raises(r"dynamic shared memory: index 7 is out of bounds for \(7,\)"):
        simt.run(histogram, 1, 128, (np.zeros(8, np.int64), 8, np.zeros(8, np.int32)), shared=31)


def atomics(name, *more):
    """A kernel that applies an operation to a number with one value after another, and keeps what the number was."""

    @cuda.jit
    def kernel(cells, values, old):
        for i in range(len(values)):
            old[i] = getattr(cuda.atomic, name)(cells, 0, values[i], *more)

    return kernel


@pytest.mark.parametrize(
    ("name", "dtype", "start", "values", "expected"),
    [
        ("add", "float32", 1, [2, 3], [1, 3, 6]),
        ("add", "int32", 2**31 - 1, [1], [2**31 - 1, -(2**31)]),
        ("sub", "uint32", 0, [1], [0, 2**32 - 1]),
        ("max", "float32", 1, [0, 3, np.nan], [1, 1, 3, 3]),
        ("min", "float64", 1, [2, -3, np.nan], [1, 1, -3, -3]),
        ("max", "int32", -1, [-2, 5], [-1, -1, 5]),
        ("and_", "uint32", 7, [6, 3], [7, 6, 2]),
        ("or_", "uint32", 1, [2, 4], [1, 3, 7]),
        ("xor", "int64", 5, [1, 1], [5, 4, 5]),
        ("exch", "int32", 5, [6, 7], [5, 6, 7]),
        ("inc", "uint32", 1, [2, 2, 2], [1, 2, 0, 1]),
        ("dec", "uint32", 1, [2, 2, 2], [1, 0, 2, 1]),
        ("cas", "int32", 5, [4, 5], [5, 5, 9]),
    ],
)
def test_atomics_return_what_was(name, dtype, start, values, expected):
    values = np.array(values, dtype)
    cells, old = np.full(1, start, dtype), np.zeros(len(values), dtype)
    simt.run(atomics(name, *[9] * (name == "cas")), 1, 1, (cells, values, old))
    assert [*old, cells[0]] == expected


@cuda.jit
def transpose(x, y, rows, columns):
    j, i = cuda.grid(2)
    if i < rows and j < columns:
        y[j * rows + i] = x[i * columns + j]


def test_a_grid_of_two_dimensions():
    x, y = np.arange(35, dtype=np.int32).reshape(5, 7), np.zeros((7, 5), np.int32)
    simt.run(transpose, (2, 3), (4, 2), (x, y, 5, 7))
    np.testing.assert_array_equal(y, x.T)


@cuda.jit
def places(out):
    t, b, d, g = cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim
    x, y, z = cuda.grid(3)
    sizes = cuda.gridsize(3)
    i = (z * sizes[1] + y) * sizes[0] + x
    out[i] = ((b.z * d.z + t.z) * (g.y * d.y) + b.y * d.y + t.y) * (g.x * d.x) + b.x * d.x + t.x + cuda.warpsize


def test_a_grid_of_three_dimensions():
    out = np.zeros(2 * 3 * 4 * 5 * 6 * 2, np.int64)
    simt.run(places, (2, 3, 4), (5, 6, 2), (out,))
    assert out.tolist() == [*range(32, 32 + len(out))]


def test_kernels_that_never_wait_need_no_greenlets(monkeypatch):
    monkeypatch.setattr(simt, "_run_greenlets", None)
    simt.run(copy, 1, 4, (floats(4), floats(4), 4))
    with pytest.raises(TypeError):
        simt.run(tree_sum, 1, 64, (floats(64), floats(1)))
