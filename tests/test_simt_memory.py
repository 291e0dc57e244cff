"""The emulator of GPU kernels bounds, types and poisons memory, and says where a kernel goes wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float32, int32, int64
from test_simt import SEEDS, floats, raises

pytest.importorskip("greenlet")
cuda = pytest.importorskip("numba.cuda")
simt = pytest.importorskip("simt")


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
