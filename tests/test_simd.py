"""Every function of simd.py does compiled what its NumPy body does, at any width."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from lodkit.jit import njit, simd
from lodkit.jit.llvm import vectors

pytestmark = pytest.mark.jit
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 88.0, -103.0, 3.5]
FLOATS = ("float32", "float64")


def numbers(dtype, count, seed=0):
    if dtype == "int64":
        return np.random.default_rng(seed).integers(-(1 << 40), 1 << 40, (1, count))
    values = np.random.default_rng(seed).normal(size=count) * 20
    values[: min(count, len(SPECIAL))] = SPECIAL[:count]
    with np.errstate(over="ignore"):
        return np.roll(values, seed).astype(dtype)[None]


def arithmetic(width):
    def kernel(a, b, out):
        x, y = simd.load(a, 0, 0, width), simd.load(b, 0, 0, width)
        simd.store(out, 0, 0, simd.add(x, y))
        simd.store(out, 1, 0, simd.sub(x, y))
        simd.store(out, 2, 0, simd.mul(x, y))
        simd.store(out, 3, 0, simd.maximum(x, y))
        simd.store(out, 4, 0, simd.minimum(x, y))
        simd.store(out, 5, 0, simd.fma(x, y, simd.full(a, width, 2.0)))
        simd.store(out, 6, 0, simd.like(x, simd.lane(y, width - 1)))
        simd.store(out, 7, 0, simd.load_first(a, 0, 0, width, width // 2, 7))
        simd.store(out, 8, 0, simd.widen(x))
        simd.store(out, 9, 0, simd.larger(y, x))
        simd.store(out, 10, 0, simd.evens(simd.paired(y, x)))
        simd.store(out, 11, 0, simd.odds(simd.paired(y, x)))

    return kernel


def transcendental(width):
    def kernel(a, b, out):
        x, y = simd.load(a, 0, 0, width), simd.load(b, 0, 0, width)
        simd.store(out, 0, 0, simd.exp(x))
        simd.store(out, 1, 0, simd.log(simd.exp(y)))
        simd.store(out, 2, 0, simd.zero_nonfinite(x))
        simd.store(out, 3, 0, simd.div(x, simd.mul_rounded(y, y)))
        simd.store(out, 4, 0, simd.sqrt(x))
        simd.store(out, 5, 0, simd.narrow(out, simd.widen(y)))
        simd.store(out, 6, 0, simd.zero_unless_positive(x, y))
        simd.store(out, 7, 0, simd.sub(simd.erfc(y), simd.like(y, 1.0)))

    return kernel


def both(kernel, rows, dtype, width, out_dtype=None):
    a, b = numbers(dtype, width), numbers(dtype, width, 5)
    outs = [np.zeros((rows, width), out_dtype or dtype) for _ in range(2)]
    with np.errstate(all="ignore"):
        kernel(a, b, outs[0])
    njit(kernel)(a, b, outs[1])
    return outs


@pytest.mark.parametrize("width", [1, 4, 7, 16, 128])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
def test_arithmetic_agrees_with_numpy(dtype, width):
    expected, got = both(arithmetic(width), 12, dtype, width)
    exact = [0, 1, 2, 3, 4, 6, 7, 8, 9]
    np.testing.assert_array_equal(got[exact], expected[exact])
    np.testing.assert_allclose(got[5], expected[5], rtol=1e-6)  # fused where the machine has it


def in_pieces(width):
    def kernel(a, b, out):
        x, y = simd.load(a, 0, 0, width), simd.load(b, 0, 0, width)
        simd.store(out, 0, 0, simd.fma(x, y, simd.full(a, width, 2)))
        simd.store(out, 1, 0, simd.narrow(out, simd.div(simd.widen(x), simd.like(simd.widen(x), 2))))
        simd.store(out, 2, 0, simd.maximum(x, simd.sub(y, x)))
        simd.store(out, 3, 0, simd.minimum(simd.like(x, simd.lane(y, 0)), simd.larger(x, y)))

    return kernel


@pytest.mark.parametrize("width", [17, 24, 48, 96, 100, 127])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
def test_vectors_in_pieces_agree_with_numpy(dtype, width):
    expected, got = both(in_pieces(width), 4, dtype, width)
    if dtype == "int64":  # NumPy's quotient of integers is a float, which is rounded down
        expected[1] = got[1] = 0
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("native", [False, True])
def test_every_half_is_converted(native, monkeypatch):
    monkeypatch.setattr(vectors, "converts_halves", lambda context: native)
    every = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 16)
    floats = every.view(np.float16).astype(np.float32)
    with np.errstate(all="ignore"):
        ties = (floats + np.roll(floats, -1, axis=1)) / 2
        near = np.nextafter(ties, np.float32(9e9)), np.nextafter(ties, np.float32(-9e9))
    anything = np.random.default_rng(0).integers(0, 1 << 32, (4096, 64), np.uint32).view(np.float32)
    given = np.concatenate([floats, ties, *near, anything], axis=1)

    @numba.njit  # no cache: the code of one is not that of the other
    def widened(halves, out):
        for i in range(len(out)):
            simd.store(out, i, 0, simd.load(halves, i, 0, 16))

    @numba.njit
    def rounded(floats, out):
        for i in range(len(out)):
            for j in range(0, floats.shape[1], 16):
                simd.store(out, i, j, simd.load(floats, i, j, 16))

    out, halves = np.empty_like(floats), np.empty(given.shape, np.uint16)
    widened(every, out)
    rounded(given, halves)
    np.testing.assert_array_equal(out, floats)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(halves.view(np.float16), given.astype(np.float16))


@pytest.mark.parametrize("width", [17, 100])
def test_halves_in_pieces(width):
    halves = numbers("float16", width).view(np.uint16)

    def kernel(a, out):
        simd.store(out, 0, 0, simd.add(simd.load(a, 0, 0, width), simd.full(a, width, 0.25)))

    expected, got = np.zeros((1, width), np.uint16), np.zeros((1, width), np.uint16)
    kernel(halves, expected)
    njit(kernel)(halves, got)
    np.testing.assert_array_equal(got.view(np.float16), expected.view(np.float16))


@pytest.mark.parametrize("width", [1, 5, 16, 64])
@pytest.mark.parametrize("dtype", FLOATS)
def test_transcendental_functions(dtype, width):
    expected, got = both(transcendental(width), 8, dtype, width)
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)


def of_every(function, x):
    """A function of every number of a row, compiled."""

    @njit
    def kernel(x, out):
        for j in range(0, x.shape[1], 16):
            simd.store(out, 0, j, function(simd.load(x, 0, j, 16)))

    out = np.empty_like(x)
    kernel(x, out)
    return out


@pytest.mark.parametrize(("dtype", "high"), [("float32", 9.1), ("float64", 26.5)])
def test_erfc_is_right_to_eight_units_in_the_last_place(dtype, high):
    x = np.concatenate([np.linspace(-6, high, (1 << 12) - 16), [0, -0.0, 1e-30, 28, 1e30, -1e30, np.inf, -np.inf] * 2])
    x = x.astype(dtype)[None]
    out = of_every(simd.erfc, x)
    exact = np.vectorize(math.erfc)(x.astype(np.float64))
    np.testing.assert_array_less(np.abs(out - exact), 8 * np.spacing(exact.astype(dtype)))


@pytest.mark.jit
@pytest.mark.parametrize(("dtype", "low", "high"), [("float32", -105.0, 89.5), ("float64", -746.0, 711.0)])
def test_exp_is_right_to_two_units_in_the_last_place(dtype, low, high):
    x = np.linspace(low, high, 1 << 16).astype(dtype)[None]
    out = of_every(simd.exp, x)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.exp(x.astype(np.longdouble))
        rounded = exact.astype(dtype)
        unit = np.spacing(np.minimum(rounded, np.finfo(dtype).max))
    tiny = rounded < 1.0001 * np.finfo(dtype).smallest_normal
    wrong = np.isfinite(rounded) & ~tiny & (np.abs(out - exact) > 2 * unit)
    assert not wrong.any(), x[wrong][:5]
    assert ((out[tiny] == 0) | np.isclose(out[tiny], rounded[tiny])).all()
    np.testing.assert_array_equal(np.isinf(out), np.isinf(rounded))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sigmoid_and_tanh_are_right_to_four_units_in_the_last_place(dtype):
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    tiny = np.exp(rng.uniform(np.log(info.smallest_normal), 0, 1 << 14)) * rng.choice([-1, 1], 1 << 14)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, info.max, -info.max]
    x = np.concatenate([special * 2, np.linspace(-86, 86, 1 << 14), np.linspace(-2, 2, 1 << 14), tiny]).astype(dtype)

    @njit
    def kernel(x, out):
        for j in range(0, x.shape[1], 16):
            simd.store(out, 0, j, simd.sigmoid(simd.load(x, 0, j, 16)))
            simd.store(out, 1, j, simd.tanh(simd.load(x, 0, j, 16)))

    out = np.empty((2, len(x)), dtype)
    kernel(x[None], out)
    wide = x.astype(np.longdouble)
    with np.errstate(over="ignore"):
        exact = np.stack([1 / (1 + np.exp(-wide)), np.tanh(wide)])
    np.testing.assert_allclose(out, exact, rtol=4 * info.eps, atol=info.smallest_subnormal)
    np.testing.assert_array_equal(np.signbit(out[1]), np.signbit(x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_is_right_to_three_units_in_the_last_place(dtype):
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    x = np.concatenate([
        [0.0, -1.0, np.inf, -np.inf, np.nan, 1.0, info.smallest_subnormal, info.max],
        np.exp(rng.uniform(np.log(info.smallest_normal), np.log(info.max), 1 << 14)),
        rng.uniform(0.5, 2.0, 1 << 14),
        1 + rng.normal(size=1 << 10) * info.eps * 100,
        rng.uniform(0, info.smallest_normal, 1 << 10),
    ]).astype(dtype)  # fmt: skip
    x = np.resize(x, (1, -(-len(x) // 16) * 16))

    @njit
    def kernel(x, out):
        for j in range(0, x.shape[1], 16):
            simd.store(out, 0, j, simd.log(simd.load(x, 0, j, 16)))

    out = np.empty_like(x)
    kernel(x, out)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.log(x.astype(np.longdouble))
        wrong = np.isfinite(exact) & (np.abs(out - exact) > 3 * np.spacing(np.abs(exact).astype(dtype)))
    assert not wrong.any(), x[wrong][:5]
    special = ~np.isfinite(exact)
    np.testing.assert_array_equal(out[special], exact[special].astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_vector_folds_by_halves(dtype):
    def kernel(a, b, out):
        x = simd.load(a, 0, 0, 8)
        x4 = simd.add(simd.low(x), simd.high(x))
        x2 = simd.add(simd.low(x4), simd.high(x4))
        simd.store(out, 0, 0, simd.add(simd.low(x2), simd.high(x2)))

    a, out = np.arange(8, dtype=dtype)[None], np.zeros((1, 8), dtype)
    njit(kernel)(a, a, out)
    assert out[0].tolist() == [28, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("step", [simd.add, simd.mul, simd.maximum, simd.minimum])
@pytest.mark.parametrize("width", [1, 2, 16, 128])
def test_lanes_are_reduced_by_halves(width, step):
    """The order decides the bits: every lane of the lower half meets the one at its place in the upper half."""

    def kernel(a, out):
        simd.store(out, 0, 0, simd.reduce(step, simd.load(a, 0, 0, width)))

    a = np.random.default_rng(0).normal(size=(1, width)).astype(np.float32)
    expected = a[0]
    while len(expected) > 1:
        expected = step(*np.split(expected, 2))
    plain, compiled = np.zeros((2, 1, 1), np.float32)
    kernel(a, plain)
    njit(kernel)(a, compiled)
    assert plain.tobytes() == compiled.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("odd", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("width", [1, 5, 16])
def test_lanes_that_are_finite_or_minus_infinite(dtype, odd, width):
    def kernel(a, b, out):
        x = simd.load(b, 0, 0, width)
        out[1, 0] = simd.is_finite(x)
        simd.store(out, 0, 0, simd.zero_at_minus_inf(simd.load(a, 0, 0, width), x))

    a, b = np.ones((1, width), dtype), np.full((1, width), -1e30, dtype)
    b[0, -1] = odd
    expected, got = np.zeros((2, width), dtype), np.zeros((2, width), dtype)
    kernel(a, b, expected)
    njit(kernel)(a, b, got)
    np.testing.assert_array_equal(got, expected)
    assert got[1, 0] == np.isfinite(odd) and got[0, -1] == (odd != -np.inf)
