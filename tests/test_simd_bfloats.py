"""bfloat16 in vectors: rounded to the nearest, of two the even one, compiled as by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from test_simd import numbers

from lodkit.base.bfloat16 import round_to_bits, widen_bits
from lodkit.jit import njit, simd

pytestmark = pytest.mark.jit


def bfloat16_cast(numbers):
    """The bits of the nearest bfloat16, of two the even one: by division, in float64."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(numbers.astype(np.float64))
        step = np.exp2(np.maximum(exponent - 8, -133))
        # np.rint rounds ties to even.
        near = (np.rint(numbers.astype(np.float64) / step) * step).astype(np.float32)
    near = np.where(np.isfinite(numbers), near, numbers)
    return np.ascontiguousarray(near, np.float32).view(np.uint32) >> 16


def sample_of_floats():
    """All bfloat16, halfway between them, beside that, and 2^20 patterns of bits."""
    words = np.arange(1 << 16, dtype=np.uint32) << 16
    near = [words | np.uint32(low) for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    anything = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, np.uint32)
    return np.concatenate([*near, anything]).view(np.float32).reshape(-1, 64)


def test_every_bfloat16_is_converted_as_by_division():
    """Round to nearest even; NaN keeps its sign and stays quiet, and never becomes infinite."""
    given = sample_of_floats()

    @njit
    def convert(floats, bits, again):
        for i in range(len(bits)):
            simd.store(bits, i, 0, simd.load(floats, i, 0, 64))
            simd.store(again, i, 0, simd.load(bits, i, 0, 64))

    bits, again = np.empty(given.shape, np.int16), np.empty_like(given)
    convert(given, bits, again)
    by_numpy = round_to_bits(given)
    np.testing.assert_array_equal(bits.view(np.uint16), by_numpy)
    np.testing.assert_array_equal(again.view(np.uint32), widen_bits(by_numpy).view(np.uint32))
    nan = np.isnan(given)
    np.testing.assert_array_equal(by_numpy[~nan], bfloat16_cast(given[~nan]))
    assert (by_numpy[nan] & 0x7FC0 == 0x7FC0).all()
    np.testing.assert_array_equal(by_numpy[nan] >> 15, given.view(np.uint32)[nan] >> 31)
    exact = (given.view(np.uint32) & 0xFFFF == 0) & ~nan
    np.testing.assert_array_equal(again[exact], given[exact])


@pytest.mark.parametrize("width", [1, 5, 17, 100])
def test_bfloats_in_pieces(width):
    bits = round_to_bits(numbers("float32", width)).view(np.int16)

    def kernel(a, out):
        x = simd.load(a, 0, 0, width)
        simd.store(out, 0, 0, simd.add(x, simd.full(a, width, 0.25)))
        simd.store(out, 1, 0, simd.widen(x))
        if width <= 16:
            simd.store(out, 2, 0, simd.load_first(a, 0, 0, width, width - 1, 1))
            simd.store_first(out, 3, 0, x, width - 1)

    expected, got = np.zeros((4, width), np.int16), np.zeros((4, width), np.int16)
    kernel(bits, expected)
    njit(kernel)(bits, got)
    np.testing.assert_array_equal(got, expected)
