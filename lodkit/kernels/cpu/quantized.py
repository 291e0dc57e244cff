"""Packed rows: loops that pack, unpack, look up and pool them, and how they run.

Bags of them are sums of ``primitives/reduce.py``.
"""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import is_bfloat16, matrix, native
from ...base.float8 import FLOAT8
from ...jit import jitable, parallel_kernel, prange, settings, simd
from ...lod.packed_rows import CODE_BITS, PARAMS_BYTES
from ...ops.shared.packed import SMALLEST_SCALE
from ..common.codes import coder, greedy, grid
from .primitives.gather import ROWS_AHEAD
from .primitives.gradients import NO_IDS
from .primitives.reduce import packed_width_of, reduce_into, reduce_loop
from .primitives.row_access import packed_reader

STRIP = 64  # lanes of a vector that is used once
ONE = np.ones((1, 1), np.float32)
SMALLEST = float(SMALLEST_SCALE)
HALF_AND_FLOAT = {np.dtype(np.float16), np.dtype(np.float32)}


def params_of(rows, bits):
    """A view of the scale and bias of each packed row; float16 as its bits."""
    return rows[:, rows.shape[1] - PARAMS_BYTES[bits] :].view(np.float32 if bits == 8 else np.uint16)


def _searcher(width, grid_of, codes_of):
    """The search for the bounds of a row's codes; its errors add up in double precision."""

    @jitable
    def loss_of(table, s, columns, low, high):
        # Rows may have no columns.
        first = simd.full(table, 1, low)
        scale, bias, factor = grid_of(first, simd.like(first, high))
        total = simd.widen(simd.like(simd.load_first(table, s, 0, width, 0, 0.0), 0.0))
        for at in range(0, columns, width):
            x = simd.load_first(table, s, at, width, min(width, columns - at), simd.lane(bias, 0))
            codes = simd.mul(codes_of(x, bias, factor), simd.like(x, simd.lane(scale, 0)))
            error = simd.sub(x, simd.add(codes, simd.like(x, simd.lane(bias, 0))))
            total = simd.add(total, simd.widen(simd.mul(error, error)))
        return simd.lane(simd.reduce(simd.add, total), 0)

    return jitable(greedy(loss_of))


@functools.cache
def quantize_kernel(bits, width, searches=False):
    """Pack rows: first their minimum and maximum, then the codes between, or between bounds that are searched for."""
    each, size, grid_of, codes_of = 8 // bits, width * bits // 8, jitable(grid(bits)), jitable(coder(bits))
    search = _searcher(width, grid_of, codes_of)

    @parallel_kernel
    def kernel(table, params, rows):
        columns = table.shape[1]
        for s in prange(len(table)):
            low = simd.load_first(table, s, 0, width, min(width, columns), 0.0)
            high = low
            for at in range(width, columns, width):
                x = simd.load(table, s, min(at, columns - width), width)
                low, high = simd.minimum(low, x), simd.maximum(high, x)
            low, high = simd.reduce(simd.minimum, low), simd.reduce(simd.maximum, high)
            if searches:
                least, most = search(table, s, columns, simd.lane(low, 0), simd.lane(high, 0))
                low, high = simd.like(low, least), simd.like(high, most)
            scale, bias, factor = grid_of(low, high)
            simd.store(params, s, 0, scale)
            simd.store(params, s, 1, bias)
            for at in range(0, columns, width):
                j = min(at, columns - width)
                codes = codes_of(simd.load(table, s, j, width), bias, factor)
                simd.store_codes(rows, s, j // each, simd.transpose(codes, size), bits)

    return kernel


@functools.cache
def dequantize_kernel(bits, width, gathers):
    """Unpack rows: those at ids, or all; ``padding`` reads as zeros."""
    each, (line_of, read) = 8 // CODE_BITS[bits], packed_reader(bits, width)

    @parallel_kernel
    def kernel(rows, scales, ids, padding, out):
        columns = out.shape[1]
        for s in prange(len(out)):
            row = s
            if gathers:
                simd.prefetch(rows, ids[min(s + ROWS_AHEAD, len(out) - 1)], 0, rows.shape[1])
                # Another thread may have written the id since it was checked.
                row = ids[s] if np.uint64(ids[s]) < np.uint64(len(rows)) else 0
            scale, bias = line_of(rows, scales, row)
            for at in range(0, columns, width):
                j = min(at, columns - width)
                x = read(rows, row, j, scale, bias)
                simd.store(out, s, j, simd.like(x, 0.0) if row == padding else simd.transpose(x, each))

    return kernel


@functools.cache
def float8_scale_kernel(width):
    """Scale of each row: its largest number divided by the ``largest`` of the format."""

    @parallel_kernel
    def kernel(table, largest, scales):
        columns = table.shape[1]
        for s in prange(len(table)):
            x = simd.load_first(table, s, 0, width, min(width, columns), 0.0)
            top = simd.maximum(x, simd.sub(simd.like(x, 0.0), x))
            for at in range(width, columns, width):
                x = simd.load(table, s, min(at, columns - width), width)
                top = simd.maximum(top, simd.maximum(x, simd.sub(simd.like(x, 0.0), x)))
            top = simd.reduce(simd.maximum, top)
            simd.store(scales, 0, s, simd.maximum(simd.div(top, simd.like(top, largest)), simd.like(top, SMALLEST)))

    return kernel


@functools.cache
def float8_kernel(name, width):
    """Round numbers to float8, divided by the scale of their row or that of all."""

    @parallel_kernel
    def kernel(table, scales, rows):
        columns = table.shape[1]
        for s in prange(len(table)):
            scale = scales[min(s, len(scales) - 1)]
            for at in range(0, columns, width):
                j = min(at, columns - width)
                x = simd.load(table, s, j, width)
                simd.store_float8(rows, s, j, simd.div(x, simd.like(x, scale)), name)

    return kernel


@functools.cache
def convert_kernel(width):
    """``out = x`` in another type, of flat arrays; strips may overlap, and write the same numbers."""

    @parallel_kernel
    def kernel(x, chunk, out):
        count = x.shape[1]
        strips = (count + width - 1) // width
        for c in prange((strips + chunk - 1) // chunk):
            for k in range(c * chunk, min(strips, (c + 1) * chunk)):
                j = min(k * width, count - width)
                simd.store(out, 0, j, simd.load(x, 0, j, width))

    return kernel


def pack(table, bits, searches, out):
    """Pack the rows of a table."""
    # Numbers may be too large for float32; uncompiled, NumPy warns of it.
    with np.errstate(all="ignore"):
        kernel = quantize_kernel(bits, packed_width_of(table.shape[1], bits, STRIP), searches)
        kernel(table.size, _as_floats(table), params_of(out, bits), out)
    return out


def _as_floats(table):
    return matrix(table.astype(np.float32) if native(table.dtype) == np.float64 else table)


def pack_float8(table, name, of_rows, out):
    """Pack the rows of a table in float8. Returns their scales, or that of all."""
    scales, width = np.empty(len(table), np.float32), packed_width_of(table.shape[1], name, STRIP)
    with np.errstate(all="ignore"):
        table = _as_floats(table)
        float8_scale_kernel(width)(table.size, table, FLOAT8[name].largest, scales[None])
        if not of_rows:
            scales = scales.max(keepdims=True) if len(scales) else np.ones(1, np.float32)
        float8_kernel(name, width)(table.size, table, scales, out)
    return scales


def scales_of(scale, bits):
    """The column of scales of float8 as kernels take it; None of others, which have them in their rows."""
    if bits not in FLOAT8:
        return None
    return ONE if scale is None else np.ascontiguousarray(scale, np.float32).reshape(-1, 1)


def unpack(rows, scale, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    rows, width = np.ascontiguousarray(rows), packed_width_of(out.shape[1], bits, STRIP)
    kernel, padding = dequantize_kernel(bits, width, ids is not None), -1 if padding_idx is None else padding_idx
    kernel(out.size, rows, scales_of(scale, bits), NO_IDS if ids is None else ids, padding, out)
    return out


def pool_loop(rows, scale, ids, weights, offsets, pool, bits):
    """The loop of ``pool_rows`` for these arrays, and what was chosen for them."""
    return reduce_loop(pool, rows, ids, weights, None, offsets, None, bits)


def pool_rows(rows, scale, ids, weights, padding_idx, offsets, pool, pad_value, bits, out=None):
    """Add up the rows of every bag, or average them. Ids outside the rows raise."""
    weights, scales = None if weights is None else np.ascontiguousarray(weights, np.float32), scales_of(scale, bits)
    if scales is not None and len(scales) > 1:
        # Of a table with gaps only the listed rows are copied, under other numbers, which scales do not have.
        rows = np.ascontiguousarray(rows)
    return reduce_into(rows, ids, weights, padding_idx, offsets, pool, pad_value, out, None, True, bits, scales)


def copy_elements(x, out):
    """Copy all elements, rounded to the type of ``out``."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        halves = {native(x.dtype), out.dtype}
        if x.size and (halves == HALF_AND_FLOAT or any(map(is_bfloat16, halves))):
            kernel = convert_kernel(STRIP if x.size >= STRIP else 1)
            kernel(x.size, matrix(x.reshape(1, -1)), settings.chunk_rows, matrix(out.reshape(1, -1)))
        else:
            np.copyto(out, x, casting="unsafe")
    return out
