"""CUDA loops over packed rows: pack, unpack, look up and pool."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import cuda, device, elementwise, vector
from ....base.float8 import FLOAT8
from ....jit import simd
from ....lod.packed_rows import CODE_BITS
from ....ops.shared.packed import SMALLEST_SCALE
from ...common.codes import coder, greedy, grid
from . import packed as packed_rows
from .reduce_kernels import WARP, combine_lanes

ZERO = np.float32(0)


def _reader(bits, size, align, scaled):
    """A function that reads the numbers in ``size`` bytes of a row, from byte j on; zeros unless the row is there."""
    param = 4 if bits == 8 else 2

    @device
    def read(rows, scales, row, there, j, codes):
        start = (row if there else 0) * (codes + 2 * param)
        scale = packed_rows.load_param(rows, start + codes, bits, align)
        bias = packed_rows.load_param(rows, start + codes + param, bits, align)
        x = packed_rows.load_codes(rows, start + j, size, bits)
        return simd.fma(x, simd.like(x, scale if there else ZERO), simd.like(x, bias if there else ZERO))

    @device
    def read_float8(rows, scales, row, there, j, codes):
        at = row if there else 0
        x = packed_rows.load_float8(rows, at * codes + j, size, bits)
        if scaled:
            x = simd.mul(x, simd.like(x, vector.number(scales, at if scaled == "row" else 0)))
        return x if there else simd.like(x, ZERO)

    return read_float8 if bits in FLOAT8 else read


def _writer(lanes, aligned):
    """A function that writes lanes to memory, which may not be aligned to vectors."""

    @device
    def write(out, at, x):
        if aligned:
            vector.store(out, at, x)
        else:
            for k in range(lanes):
                out[at + k] = simd.lane(x, k)

    return write


@functools.cache
def dequantize_kernel(bits, size, align, aligned, scaled, gather):
    """Unpack rows, all or those at ids: a thread takes ``size`` bytes of codes."""
    each = 8 // CODE_BITS[bits]
    read, write = _reader(bits, size, align, scaled), _writer(size * each, aligned)

    @elementwise
    def dequantize(i, rows, scales, ids, padding, height, codes, steps, out):
        place, j = i // steps, i % steps * size
        row = vector.number(ids, place) if gather else place
        there = (row >= 0) & (row < height) & (row != padding)
        write(out, (place * codes + j) * each, read(rows, scales, row, there, j, codes))

    return dequantize


@functools.cache
def bag_kernel(bits, size, align, aligned, scaled, weighted, divisor):
    """Look up and pool: one group of threads per segment, and ``divisor``, as in ``reduce_kernels``."""
    each, divides, by_totals = 8 // CODE_BITS[bits], divisor is not None, divisor == "totals"
    lanes = size * each
    read, write = _reader(bits, size, align, scaled), _writer(lanes, aligned)

    @device
    def total(rows, scales, ids, weights, start, stop, j, codes, height, padding, out):
        result = simd.full(out, lanes, 0)
        for i in range(start, stop):
            row = vector.number(ids, i)
            x = read(rows, scales, row, (row >= 0) & (row < height) & (row != padding), j, codes)
            result = simd.fma(x, simd.like(x, vector.number(weights, i)), result) if weighted else simd.add(result, x)
        return result

    @cuda.jit
    def kernel(rows, scales, ids, weights, totals, lengths, offsets, pad, padding, height, codes, group, segments, out):
        thread = cuda.grid(1)
        s, j = thread >> group, (thread & ((1 << group) - 1)) * size
        while s < segments:
            start, stop = offsets[s], offsets[s + 1]
            for at in range(j, codes, size << group):
                result = simd.full(out, lanes, pad)
                if start < stop and (not by_totals or totals[s] != 0):
                    result = total(rows, scales, ids, weights, start, stop, at, codes, height, padding, out)
                    if divides:
                        by = totals[s] if by_totals else lengths[s + 1] - lengths[s]
                        result = simd.div(result, simd.like(result, by))
                write(out, (s * codes + at) * each, result)
            s += cuda.gridsize(1) >> group

    return kernel


def _searcher(grid_of, codes_of):
    """The search of a warp for the bounds of a row's codes."""
    combine = combine_lanes(simd.add, WARP)

    @device
    def loss_of(table, i, columns, low, high):
        first = simd.full(table, 1, low)
        scale, bias, factor = grid_of(first, simd.full(table, 1, high))
        total = simd.full(table, 1, 0)
        for j in range(cuda.threadIdx.x & (WARP - 1), columns, WARP):
            x = vector.load(table, i * columns + j, 1)
            error = simd.sub(x, simd.add(simd.mul(codes_of(x, bias, factor), scale), bias))
            total = simd.add(total, simd.mul(error, error))
        return simd.lane(combine(total), 0)

    return device(greedy(loss_of))


@functools.cache
def quantize_kernel(bits, searches=False):
    """Pack rows: one warp per row, every 32nd byte per lane."""
    each, param = 8 // bits, 4 if bits == 8 else 2
    grid_of, codes_of = device(grid(bits)), device(coder(bits))
    search = _searcher(grid_of, codes_of)
    least, largest = combine_lanes(simd.minimum, WARP), combine_lanes(simd.maximum, WARP)

    @cuda.jit
    def kernel(table, columns, codes, n, rows):
        i, lane = cuda.grid(1) >> 5, cuda.grid(1) & 31
        while i < n:
            low = vector.load_where(columns > 0, table, i * columns + min(lane, columns - 1), 1)
            high = low
            for j in range(lane + WARP, columns, WARP):
                x = vector.load(table, i * columns + j, 1)
                low, high = simd.minimum(low, x), simd.maximum(high, x)
            low, high = least(low), largest(high)
            if searches:
                ends = search(table, i, columns, simd.lane(low, 0), simd.lane(high, 0))
                low, high = simd.full(table, 1, ends[0]), simd.full(table, 1, ends[1])
            scale, bias, factor = grid_of(low, high)
            start = i * (codes + 2 * param)
            if lane == 0:
                packed_rows.store_param(rows, start + codes, scale, bits)
                packed_rows.store_param(rows, start + codes + param, bias, bits)
            for j in range(lane, codes, WARP):
                packed = 0
                for k in range(each):
                    code = codes_of(vector.load(table, i * columns + j * each + k, 1), bias, factor)
                    packed |= int(simd.lane(code, 0)) << (bits * k)
                rows[start + j] = packed
            i += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def float8_scale_kernel():
    """Scale of each row: its largest number divided by the ``largest`` of the format. One warp per row."""
    combine = combine_lanes(simd.maximum, WARP)

    @cuda.jit
    def kernel(table, columns, n, largest, scales):
        i, lane = cuda.grid(1) >> 5, cuda.grid(1) & 31
        while i < n:
            top = simd.full(table, 1, 0)
            for j in range(lane, columns, WARP):
                x = vector.load(table, i * columns + j, 1)
                top = simd.maximum(top, simd.maximum(x, simd.sub(simd.like(x, 0), x)))
            top = combine(top)
            if lane == 0:
                scale = simd.maximum(simd.div(top, simd.like(top, largest)), simd.like(top, SMALLEST_SCALE))
                vector.store(scales, i, scale)
            i += cuda.gridsize(1) >> 5

    return kernel


@functools.cache
def float8_kernel(name, of_rows):
    """Round numbers to float8, divided by the scale of their row or that of all."""

    @elementwise
    def round_numbers(i, table, scales, columns, rows):
        x = vector.load(table, i, 1)
        x = simd.div(x, simd.like(x, vector.number(scales, i // columns if of_rows else 0)))
        packed_rows.store_float8(rows, i, x, name)

    return round_numbers
