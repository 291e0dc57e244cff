"""What simd.py moves between vectors and memory: parts, halves, codes and bytes, none past an end."""

from __future__ import annotations

import ctypes
import mmap
import re
import sys

import numpy as np
import pytest
from test_simd import both, numbers

from lodkit.jit import njit, simd

pytestmark = pytest.mark.jit


@pytest.mark.parametrize("width", [1, 4, 16, 64])
def test_halves_are_loaded_and_rounded_like_numpy(width):
    halves = numbers("float16", width).view(np.uint16)

    def kernel(a, b, out):
        x = simd.load(a, 0, 0, width)
        simd.store(out, 0, 0, simd.add(x, simd.full(a, width, 0.25)))
        simd.store(out, 1, 0, simd.widen(x))
        simd.store(out, 2, 0, simd.load_first(a, 0, 0, width, width - 1, 1))

    expected, got = np.zeros((3, width), np.uint16), np.zeros((3, width), np.uint16)
    with np.errstate(over="ignore"):
        kernel(halves, halves, expected)
    njit(kernel)(halves, halves, got)
    np.testing.assert_array_equal(got.view(np.float16), expected.view(np.float16))


@pytest.mark.parametrize("width", [1, 12, 16, 24, 32, 100, 128])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16", "int16", "int64"])
def test_lines_are_loaded_in_another_order(width, dtype):
    """Of one line and several, of lanes that fill none, and of halves, which fill fewer: the lanes are the same."""

    def kernel(a, b, out):
        simd.store(out, 0, 2, simd.load_last_line_first(a, 0, 1, width))

    a = (np.arange(width + 4).reshape(1, -1) * 3 % 101).astype(dtype)
    out = np.zeros_like(a)
    njit(kernel)(a, a, out)
    assert out[0].tolist() == [0, 0, *a[0, 1 : width + 1], 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16", "int64"])
@pytest.mark.parametrize("count", [0, 1, 5, 8, 9])
def test_store_first_writes_nothing_past_its_count(count, dtype):
    def kernel(a, b, out):
        simd.store_first(out, 0, 1, simd.load(a, 0, 0, 8), count)

    a, out = (
        np.arange(1, 9, dtype=np.int64).astype("f2" if dtype == "uint16" else dtype)[None],
        np.zeros((1, 10), dtype),
    )
    a = a.view(dtype)
    njit(kernel)(a, a, out)
    written = min(count, 8)
    np.testing.assert_array_equal(out[0], [0, *a[0, :written], *[0] * (9 - written)])


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
@pytest.mark.parametrize("count", range(6))
def test_load_first_reads_nothing_past_its_count(count):
    """The numbers end where a page does, and the next page may not be read."""
    size = mmap.PAGESIZE
    pages = np.frombuffer(mmap.mmap(-1, 2 * size), np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    guard = ctypes.c_void_p(pages.ctypes.data + size)
    assert libc.mprotect(guard, size, 0) == 0
    try:
        values = pages[:size].view(np.float32)[-4 - count :][None]
        values[...] = np.arange(4 + count)
        out = np.zeros((1, 16), np.float32)

        def kernel(a, b, out):
            simd.store(out, 0, 0, simd.load_first(a, 0, 4, 16, a.shape[1] - 4, -1))

        njit(kernel)(values, values, out)
        assert out[0].tolist() == [*range(4, 4 + count), *[-1] * (16 - count)]
    finally:
        libc.mprotect(guard, size, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("bits", [8, 4, 2])
@pytest.mark.parametrize("size", [1, 4, 16, 32])
def test_codes_are_unpacked_and_packed(bits, size):
    each = 8 // bits

    def kernel(rows, floats, again):
        codes = simd.load_packed(rows, 0, 3, size, bits, 1.0, 0.0)
        simd.store(floats, 0, 0, codes)
        simd.store(floats, 1, 0, simd.transpose(codes, each))
        simd.store_codes(again, 0, 3, codes, bits)

    rows = np.random.default_rng(0).integers(0, 256, (1, size + 5)).astype(np.uint8)
    results = []
    for run in (kernel, njit(kernel)):
        floats, again = np.zeros((2, size * each), np.float32), np.zeros_like(rows)
        run(rows, floats, again)
        np.testing.assert_array_equal(again[0, 3:-2], rows[0, 3:-2])
        assert not again[0, :3].any() and not again[0, -2:].any()
        results.append(floats)
    np.testing.assert_array_equal(*results)
    in_order = [rows[0, 3 + k * bits // 8] >> k * bits % 8 & 2**bits - 1 for k in range(size * each)]
    np.testing.assert_array_equal(floats[1], in_order)


@pytest.mark.jit
@pytest.mark.parametrize("bits", [4, 2])
@pytest.mark.parametrize(("scale", "bias"), [(0.1, -0.7), (3e-39, 1e-40), (np.inf, 1.0), (np.nan, 0.0)])
def test_codes_that_are_looked_up_give_the_numbers_of_the_formula(bits, scale, bias):
    """Of 16 bytes and more; of fewer there are no vectors to look up."""
    each = 8 // bits

    def load(rows, scale, bias, out):
        simd.store(out, 0, 0, simd.transpose(simd.load_packed(rows, 0, 0, 32, bits, scale, bias), each))

    def load_four(rows, scale, bias, out):
        for j in range(0, 32, 4):
            part = simd.transpose(simd.load_packed(rows, 0, j, 4, bits, scale, bias), each)
            simd.store(out, 0, j * each, part)

    rows = np.random.default_rng(0).integers(0, 256, (1, 32)).astype(np.uint8)
    found = np.zeros((2, 1, 32 * each), np.float32)
    for out, run in zip(found, (load, load_four), strict=True):
        njit(run)(rows, np.float32(scale), np.float32(bias), out)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("bits", [8, 4])
def test_scale_and_bias_are_read_where_they_stand(bits):
    def load(rows, out):
        simd.store(out, 0, 0, simd.load_params(rows, 1, 3, bits))

    kind = np.float32 if bits == 8 else np.float16
    pair, rows = np.array([0.1, -7.5], kind), np.full((3, 16), 255, np.uint8)
    rows[1, 3 : 3 + pair.nbytes] = pair.view(np.uint8)
    for run in (load, njit(load)):
        out = np.zeros((1, 2), np.float32)
        run(rows, out)
        np.testing.assert_array_equal(out[0], pair.astype(np.float32))


@pytest.mark.parametrize("width", [1, 16])
def test_half_rounds_like_numpy(width):
    def kernel(a, b, out):
        simd.store(out, 0, 0, simd.half(simd.load(a, 0, 0, width)))
        simd.store(out, 1, 0, simd.half(simd.load(b, 0, 0, width)))

    expected, got = both(kernel, 2, "float32", width)
    np.testing.assert_array_equal(got, expected)


def test_rows_that_are_not_aligned():
    rows = np.zeros((3, 9), np.uint8)
    params = rows[:, 1:].view(np.float32)
    params[...] = np.arange(6).reshape(3, 2)

    def kernel(a, b, out):
        for i in range(len(a)):
            simd.store(out, i, 0, simd.load(a, i, 0, 2))
            simd.store(b, i, 0, simd.load(out, i, 0, 1))

    out = np.zeros((3, 2), np.float32)
    njit(kernel)(params, params, out)
    np.testing.assert_array_equal(out, params)


def test_prefetch_and_rolled_change_nothing():
    def kernel(a, b, out):
        for i in range(len(out)):
            simd.keep_loop_rolled()
            simd.prefetch(a, i, 0, 256)
            simd.prefetch_lanes(a, i, 0, 100, True, 2)
            simd.prefetch_lanes(a, i, 0, 3, False, 3)
            simd.prefetch_alternate(a, i, 0, 100, 2)
            simd.store(out, i, 0, simd.load(a, i, 0, 3))

    a = np.arange(12.0).reshape(4, 3)
    out = np.zeros_like(a)
    njit(kernel)(a, a, out)
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("name", ["copy", "stream"])
def test_bytes_are_copied_between_any_boundaries(name):
    function = getattr(simd, name)

    @njit
    def kernel(out, i, source, j, count):
        function(out, i, source, j, count)
        simd.store_fence()

    source = np.arange(300).astype(np.uint8)
    for run in (kernel, kernel.py_func):
        for i in (0, 1, 63, 64, 65):
            for count in (0, 1, 62, 63, 64, 65, 128, 200):
                out = np.full(400, 255, np.uint8)
                run(out, i, source, 7, count)
                assert out[i : i + count].tolist() == source[7 : 7 + count].tolist()
                assert (out[:i] == 255).all() and (out[i + count :] == 255).all()


def test_of_alternate_lines_half_are_prefetched(tmp_path, monkeypatch):
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))

    @njit
    def every(a):
        simd.prefetch_lanes(a, 0, 0, 48, False, 3)

    @njit
    def alternate(a):
        simd.prefetch_alternate(a, 0, 0, 48, 3)

    for kernel, lines in ((every, 6), (alternate, 3)):
        kernel(np.empty((1, 48)))
        code = next(iter(kernel.inspect_llvm().values()))
        assert len(re.findall(r"call void @llvm.prefetch", code)) == lines


def test_streaming_goes_past_the_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("LODKIT_CACHE_DIR", str(tmp_path / "cache"))  # Numba does not show code from a cache

    @njit
    def kernel(out, source):
        simd.stream(out, 0, source, 0, len(out))

    kernel(np.empty(256, np.uint8), np.zeros(256, np.uint8))
    assert "!nontemporal" in next(iter(kernel.inspect_llvm().values()))
