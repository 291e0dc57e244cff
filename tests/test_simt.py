"""The emulator of GPU kernels computes what a GPU would, and finds what a GPU would let pass."""

from __future__ import annotations

from types import ModuleType

import numba
import numpy as np
import pytest
from numba import float32, int32, int64, njit, uint32

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


@cuda.jit(device=True)
def doubled(x):
    return x * cuda.blockDim.x


@njit
def halved(x):
    return x * float32(0.5)


def at_own_place(x):
    return doubled(x[cuda.grid(1)])


def power(x, exponent):
    result = float32(1)
    for _ in range(exponent):
        result *= x
    return result


def factory(exponent, step):
    @cuda.jit
    def kernel(x, y):
        y[cuda.grid(1)] = step(halved(at_own_place(x)), exponent)

    return kernel


@pytest.mark.parametrize("exponent", [1, 3])
def test_functions_and_constants_of_a_factory(exponent):
    x, y = floats(2), np.zeros(2, np.float32)
    kernel = factory(exponent, power)
    simt.run(kernel, 1, 2, (x, y))
    assert y.tolist() == [1, 2**exponent]
    assert simt._copied(kernel.py_func) is simt._copied(kernel.py_func)


def test_functions_are_found_in_modules():
    module = ModuleType("module")
    module.at_own_place, module.power, module.same = at_own_place, power, "same"

    def kernel(x, y):
        assert module.same == "same"
        numba.cuda.syncwarp(1 << numba.cuda.laneid)
        y[numba.cuda.grid(1)] = module.power(module.at_own_place(x), 2)

    y = np.zeros(2, np.float32)
    simt.run(kernel, 1, 2, (floats(2), y))
    assert y.tolist() == [4, 16]


def test_functions_that_know_no_cuda_are_not_copied():
    function, waits = simt._copied(factory(1, power).py_func)
    names = function.__code__.co_freevars
    cells = dict(zip(names, (cell.cell_contents for cell in function.__closure__), strict=True))
    assert cells["step"] is power and cells["exponent"] == 1 and not waits
    assert function.__globals__["at_own_place"] is not at_own_place


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


@cuda.jit
def bits(x, out):
    out[0] = cuda.popc(x[0])
    out[1] = cuda.ffs(x[0])
    out[2] = cuda.clz(x[0])
    out[3] = cuda.brev(x[0])
    out[4] = cuda.selp(x[0] == 40, 3, 4)
    cuda.threadfence()


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        ("uint32", 40, [2, 4, 26, 0x14000000, 3]),
        ("int32", -1, [32, 1, 0, 2**32 - 1, 4]),
        ("int64", -1, [64, 1, 0, -1, 4]),
        ("int32", 0, [0, 0, 32, 0, 4]),
    ],
)
def test_bit_operations_depend_on_the_type(dtype, number, expected):
    out = np.zeros(5, np.int64)
    simt.run(bits, 1, 1, (np.array([number], dtype), out))
    assert out.tolist() == expected


@cuda.jit
def fused(x, out):
    out[0] = cuda.fma(x[0], x[0], -x[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fma_rounds_once(dtype):
    x = np.array([1 + np.finfo(dtype).eps, 0], dtype)
    x[1] = x[0] * x[0]
    out = np.zeros(1, dtype)
    simt.run(fused, 1, 1, (x, out))
    assert out[0] == np.finfo(dtype).eps ** 2


@cuda.jit
def wrapping(x, out):
    cuda.syncwarp(1 << cuda.laneid)
    out[0] = x[0] + int32(1)
    out[1] = uint32(x[0]) * uint32(3)
    out[2] = float32(1e38) * float32(1e38)


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_integers_wrap_without_a_warning(seed):
    out = np.zeros(3, np.float64)
    simt.run(wrapping, 1, 1, (np.array([2**31 - 1], np.int32), out), seed=seed)
    assert out.tolist() == [-(2**31), 2147483645, np.inf]


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


@cuda.jit
def unwritten(halves, floats, ints):
    cells = cuda.local.array((2, 3), float32)
    floats[0] = cells[1, 2]
    ints[0] = cuda.local.array(4, int64)[3]
    shared = cuda.shared.array((4, 4), int32)
    ints[1] = shared[0, 3]
    halves[0] = cuda.local.array(4, np.float16)[0]


def test_memory_starts_poisoned():
    halves, numbers, ints = np.zeros(1, np.float16), np.zeros(1, np.float32), np.zeros(2, np.int64)
    simt.run(unwritten, 1, 1, (halves, numbers, ints))
    assert np.isnan(halves[0]) and np.isnan(numbers[0]) and ints.tolist() == [-1, -1]


def doing(action):
    """A kernel in which one thread, the last of the second block of four, does something with the argument."""

    @cuda.jit
    def kernel(x):
        if cuda.grid(1) == 7:
            action(x)

    return kernel


def put(index, value):
    def action(x):
        x[index] = value

    return action


PLACE = r"; kernel 'doing.kernel', block \(1, 0, 0\), thread \(3, 0, 0\)"


@pytest.mark.parametrize("index", [-1, 4, 1 << 40, np.int64(-4)])
def test_a_pointer_is_not_accessed_out_of_bounds(index):
    for action in (lambda x: x[index], put(index, 1), lambda x: x.load(index, 1), lambda x: x.store(index, (1,))):
        with raises(rf"argument 'x': index {index} is out of bounds for \(4,\){PLACE}"):
            simt.run(doing(action), 2, 4, (floats(4),))


@pytest.mark.parametrize("index", [1.0, slice(0, 2), (0, 0), None])
def test_a_pointer_is_indexed_by_integers(index):
    for action in (lambda x: x[index], put(index, 1)):
        with raises(f"argument 'x' of shape .* cannot be indexed by{'.*' + PLACE}"):
            simt.run(doing(action), 2, 4, (floats(4),))


def test_integers_are_not_written_as_floats():
    for action in (put(0, 2.0), put(0, np.float32(2)), lambda x: cuda.atomic.add(x, 0, 1.0)):
        with raises(f"argument 'x' holds int32, .* is of float.*{PLACE}"):
            simt.run(doing(action), 2, 4, (np.zeros(4, np.int32),))


def test_integers_wrap_where_they_are_written():
    x = np.zeros(4, np.int32)
    simt.run(doing(put(0, np.int64(2**40 + 5))), 2, 4, (x,))
    simt.run(doing(put(1, np.uint32(2**32 - 1))), 2, 4, (x,))
    simt.run(doing(lambda x: cuda.atomic.add(x, 2, np.uint64(2**64 - 1))), 2, 4, (x,))
    assert x.tolist() == [5, -1, -1, 0]
    with pytest.raises(OverflowError):
        simt.run(doing(put(0, 2**31)), 2, 4, (x,))


def test_vectors_are_loaded_and_stored():
    x = np.zeros(8, np.float32)

    def action(x):
        x.store(4, (1, 2, 3, 4))
        x.store(2, x.load(6, 2))

    simt.run(doing(action), 2, 4, (x,))
    assert x.tolist() == [0, 0, 3, 4, 1, 2, 3, 4]


def test_vectors_are_aligned():
    aligned = np.zeros(32, np.float32)
    aligned = aligned[-aligned.ctypes.data % 16 // 4 :]
    for array, i, n in ((aligned, 2, 4), (aligned, 1, 2), (aligned[1:], 0, 4), (aligned[2:], 4, 4)):
        for action in (lambda x: x.load(i, n), lambda x: x.store(i, (0,) * n)):
            with raises(f"argument 'x': a vector of {n} from element {i} on is misaligned{PLACE}"):
                simt.run(doing(action), 2, 4, (array,))
    with raises(r"argument 'x': 4 elements from 4 on are out of bounds for \(6,\)"):
        simt.run(doing(lambda x: x.load(4, 4)), 2, 4, (aligned[:6],))


def test_a_pointer_has_a_length_and_a_type():
    seen = []
    simt.run(doing(lambda x: seen.append((len(x), x.dtype, type(x[0])))), 2, 4, (np.zeros((2, 3), np.float32),))
    assert seen == [(6, np.float32, np.float32)]
    with pytest.raises(ValueError, match="C-contiguous"):
        simt.Pointer(np.zeros((2, 3)).T)


def test_arguments_have_known_types():
    seen = []
    for value in (3, np.float32(2), np.uint8(1), True):
        simt.run(doing(lambda x: seen.append(type(x))), 2, 4, (value,))
    assert seen == [np.int64, np.float32, np.uint8, bool]
    for value in (1.0, None, [1]):
        with pytest.raises(TypeError, match=f"argument 'x' is of {type(value).__name__}"):
            simt.run(doing(print), 1, 1, (value,))
    with pytest.raises(TypeError, match=r"doing.kernel takes 1 arguments \(x\), got 2"):
        simt.run(doing(print), 1, 1, (1, 2))


@pytest.mark.parametrize(("grid", "block"), [(0, 1), (1, 0), ((1, 0), 1), (1, 1025), (1, (32, 33))])
def test_a_launch_has_blocks_and_threads(grid, block):
    with pytest.raises(ValueError, match="cannot be launched"):
        simt.run(doing(print), grid, block, (1,))


def test_other_errors_say_where():
    with pytest.raises(ZeroDivisionError) as caught:
        simt.run(doing(lambda x: 1 // 0), 2, 4, (1,))
    assert caught.value.__notes__ == ["kernel 'doing.kernel', block (1, 0, 0), thread (3, 0, 0)"]


def in_memory(space, index):
    @cuda.jit
    def kernel(x):
        cells = getattr(cuda, space).array((2, 3), float32)
        cells[index] = x[0]

    return kernel


@pytest.mark.parametrize("space", ["shared", "local"])
@pytest.mark.parametrize("index", [(-1, 0), (0, -1), (2, 0), (0, 3)])
def test_shared_and_local_arrays_are_bounded(space, index):
    i, j = index
    with raises(
        rf"{space} array \(2, 3\) of float32: index \({i}, {j}\) is out of bounds .* kernel 'in_memory.kernel'"
    ):
        simt.run(in_memory(space, index), 1, 1, (floats(1),))
    with raises("cannot be indexed by 0; kernel 'in_memory.kernel'"):
        simt.run(in_memory(space, 0), 1, 1, (floats(1),))


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


@cuda.jit
def differing(x):
    if cuda.threadIdx.x == 5:
        cuda.shared.array(3, int32)
    cuda.shared.array(4, float32)
    cuda.shared.array(3, int32)


def test_shared_arrays_are_allocated_in_one_order():
    with raises(r"allocate shared arrays in differing order; .* thread \(5, 0, 0\)"):
        simt.run(differing, 1, 8, (floats(1),))


@cuda.jit(device=True)
def scratch():
    return cuda.shared.array(1, int32)


@cuda.jit
def aliased(out):
    first, second = scratch(), scratch()
    first[0], second[0] = 1, 2
    out[0] = first[0]


def test_one_place_in_the_code_is_one_shared_array():
    out = np.zeros(1, np.int32)
    simt.run(aliased, 1, 1, (out,))
    assert out[0] == 2


@cuda.jit
def collide(x, differ):
    x[cuda.threadIdx.x] = cuda.blockIdx.x * differ
    cuda.syncthreads()
    x[cuda.threadIdx.x] = cuda.blockIdx.x * differ


@pytest.mark.parametrize("seed", SEEDS)
def test_two_blocks_that_write_one_element(seed):
    x = np.zeros(4, np.int64)
    simt.run(collide, 2, 4, (x, 0), seed=seed)
    with raises(r"argument 'x': two blocks write element \d, \((0|1), 0, 0\) wrote (0|1) and this one (0|1); kernel"):
        simt.run(collide, 2, 4, (x, 1), seed=seed)
    simt.run(collide, 2, 4, (x, 1), seed=seed, races=False)


def test_kernels_that_never_wait_need_no_greenlets(monkeypatch):
    monkeypatch.setattr(simt, "_run_greenlets", None)
    simt.run(copy, 1, 4, (floats(4), floats(4), 4))
    with pytest.raises(TypeError):
        simt.run(tree_sum, 1, 64, (floats(64), floats(1)))


def test_an_error_leaves_nothing_behind():
    for _ in range(2):
        with raises("deadlock"):
            simt.run(warp_and_barrier, 1, 32, (floats(1),))
        test_a_tree_sums_in_shared_memory(None)
    assert all(not greenlet.dead for greenlets in simt._idle.values() for greenlet in greenlets)
