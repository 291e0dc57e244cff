"""The emulator of GPU kernels runs functions of factories and modules, and computes in their types."""

from __future__ import annotations

from types import ModuleType

import numba
import numpy as np
import pytest
from numba import float32, int32, njit, uint32
from test_simt import SEEDS, floats

pytest.importorskip("greenlet")
cuda = pytest.importorskip("numba.cuda")
simt = pytest.importorskip("simt")


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
