"""Packed rows: loops that pack, unpack, look up and pool them, and how they run.

Lanes are codes as bytes hold them: the lowest bits of all bytes first, then the next. They are put in order once per
segment, not once per row.
"""

from __future__ import annotations

import functools

import numpy as np

from ...arrays import is_bfloat16, matrix, native
from ...arrays.ids import ids_in_range
from ...jit import jitable, parallel_kernel, prange, segments_in, settings, simd
from ...lod.packed_rows import PARAMS_BYTES
from ..common.codes import coder, greedy, grid
from .primitives.gather import NO_WEIGHTS
from .primitives.gradients import NO_IDS
from .primitives.reduce import choose_prefetch, reach_of
from .primitives.reduce_kernels import (
    access,
    bound_row,
    has_bad_id,
    inline_without_nrt,
    rows_left_by,
    state_of,
    weight_of,
)
from .primitives.templates import fill

STRIP = 64  # lanes of a vector that is used once
HALF_AND_FLOAT = {np.dtype(np.float16), np.dtype(np.float32)}
WIDTHS = (128, 64, 16, 4)


def width_of(columns, bits, most=WIDTHS[0]):
    """Lanes of a strip of columns, which fill their bytes; the last strip may overlap the one before."""
    return next((w for w in WIDTHS if w <= min(columns, most)), 8 // bits)


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
def dequantize_kernel(bits, width):
    """Unpack rows: those at ids if any, else all; ``padding`` reads as zeros."""
    each, size, behind = 8 // bits, width * bits // 8, PARAMS_BYTES[bits]

    @parallel_kernel
    def kernel(rows, ids, padding, out):
        columns = out.shape[1]
        for s in prange(len(out)):
            row = ids[s] if len(ids) else s
            # Another thread may have written the id since it was checked.
            row = row if np.uint64(row) < np.uint64(len(rows)) else 0
            pair = simd.load_params(rows, row, rows.shape[1] - behind, bits)
            if row == padding:
                pair = simd.like(pair, 0.0)
            for at in range(0, columns, width):
                j = min(at, columns - width)
                x = simd.load_packed(rows, row, j // each, size, bits, simd.lane(pair, 0), simd.lane(pair, 1))
                simd.store(out, s, j, simd.transpose(x, each))

    return kernel


def _block_sum(bits, width, weighted, prefetch):
    """Make the sum of W columns from byte j on of a block of rows, in float32. The table must have a row."""
    size, behind = width * bits // 8, PARAMS_BYTES[bits]
    row_of, rows_left, bound = access(size + behind, True, prefetch), rows_left_by(True), bound_row(True)

    @inline_without_nrt
    def block_sum(rows, ids, weights, padding, start, stop, j, distance, near_distance, out):
        distance, near_distance = rows_left(rows, ids, stop, distance, near_distance)
        total, i = simd.full(out, width, 0.0), start
        while i < stop:
            row = row_of(rows, ids, i, j, distance, near_distance)
            if row != padding:
                row = bound(rows, row)
                pair = simd.load_params(rows, row, rows.shape[1] - behind, bits)
                scale, bias = simd.lane(pair, 0), simd.lane(pair, 1)
                if weighted:
                    scale, bias = scale * weights[i], bias * weights[i]
                total = simd.add(total, simd.load_packed(rows, row, j, size, bits, scale, bias))
            i += 1
        return total

    return block_sum


@functools.cache
def bag_kernel(bits, width, weighted, prefetch):
    """Make the kernel that looks up and pools. Bags of one block have a loop without calls, as in ``sum_kernel``."""
    each, block_sum = 8 // bits, _block_sum(bits, width, weighted, prefetch)

    @inline_without_nrt
    def divisor_of(weights, start, stop, divides):
        if not divides:
            return 1.0
        return weight_of(weights, start, stop) if weighted else float(stop - start)

    @inline_without_nrt
    def put(out, s, j, total, divisor):
        if divisor != 1.0:
            total = simd.div(total, simd.like(total, divisor))
        simd.store(out, s, j, simd.transpose(total, each))

    @jitable(nrt=False)
    def pool_long(rows, ids, weights, padding, s, start, stop, divides, pad, block, ahead, out):
        """Pool a bag of more than a block, in double precision."""
        divisor = divisor_of(weights, start, stop, divides)
        if divisor == 0:
            fill(out, s, pad)
            return
        for at in range(0, out.shape[1], width):
            j, total = min(at, out.shape[1] - width), simd.widen(simd.full(out, width, 0.0))
            for i in range(start, stop, block):
                part = block_sum(rows, ids, weights, padding, i, min(i + block, stop), j // each, *ahead, out)
                total = simd.add(total, simd.widen(part))
            put(out, s, j, total, divisor)

    @parallel_kernel
    def kernel(rows, ids, weights, padding, offsets, divides, pad, chunk, block, distance, near_distance, out):
        columns, ahead, bad = out.shape[1], (distance, near_distance), False
        for c in prange(offsets[-1] // chunk + 1):
            segments = segments_in(offsets, chunk, c)
            s, last = segments.start, segments.stop
            while s < last:
                start, stop = offsets[np.uint64(s)], offsets[np.uint64(s + 1)]
                while stop - start <= block:
                    divisor = divisor_of(weights, start, stop, divides)
                    if start == stop or divisor == 0:
                        fill(out, s, pad)
                    else:
                        for at in range(0, columns, width):
                            j = min(at, columns - width)
                            taken = rows, ids, weights, padding, start, stop, j // each, distance, near_distance, out
                            put(out, s, j, block_sum(*taken), divisor)
                    s += 1
                    if s == last:
                        break
                    start, stop = stop, offsets[np.uint64(s + 1)]
                else:
                    pool_long(rows, ids, weights, padding, s, start, stop, divides, pad, block, ahead, out)
                    s += 1
            bad |= has_bad_id(ids, offsets[segments.start], offsets[segments.stop], len(rows))
        return state_of(False, bad)

    return kernel


@functools.lru_cache(1024)
def plan_bags(bits, columns, weighted, reach):
    """The kernel of bags of packed rows, and the rows between prefetches and the use of a row."""
    width = width_of(columns, bits)
    prefetch, *ahead = choose_prefetch("sum", width * bits // 8 + PARAMS_BYTES[bits], True, reach)
    return bag_kernel(bits, width, weighted, prefetch), *ahead


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
        table = table.astype(np.float32) if native(table.dtype) == np.float64 else table
        kernel = quantize_kernel(bits, width_of(table.shape[1], bits, STRIP), searches)
        kernel(table.size, matrix(table), params_of(out, bits), out)
    return out


def unpack(rows, ids, padding_idx, bits, out):
    """Rows at ids, or all of them, as float32."""
    rows, kernel = np.ascontiguousarray(rows), dequantize_kernel(bits, width_of(out.shape[1], bits, STRIP))
    padding = -1 if padding_idx is None else padding_idx
    kernel(out.size, rows, NO_IDS if ids is None else ids, padding, out)
    return out


def pool_rows(rows, ids, weights, padding_idx, offsets, pool, pad, bits, out, checked):
    """Add up the rows of every bag, or average them. Ids outside the rows raise, if they were not ``checked``; those
    that other threads write meanwhile are clamped.
    """
    if not (checked or (out.size and len(rows))):
        ids_in_range(ids, len(rows))
    if not out.size:
        return out
    columns, weighted = out.shape[1], weights is not None
    work = ids.size * columns
    kernel, *ahead = plan_bags(bits, columns, weighted, reach_of(rows.nbytes, work, True))
    weights = np.ascontiguousarray(weights, np.float32) if weighted else NO_WEIGHTS
    rows, padding = np.ascontiguousarray(rows), -1 if padding_idx is None else padding_idx
    sizes = settings.chunk_rows, settings.block_rows, *ahead
    args = rows, ids, weights, padding, offsets, pool == "mean", pad, *sizes, out
    if work < settings.parallel_from:
        state = (kernel.entries.get(None) or kernel.keep_entry(None, *args))(*args)
    else:
        state = kernel(work, *args)
    if state and not checked:
        ids_in_range(ids, len(rows))
    return out


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
