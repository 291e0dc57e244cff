"""Segments of rows copied to other places, with padding around them: what packing, padding and cutting share."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import vector
from ....arrays.cuda.launch import cuda, device, launch
from ....arrays.cuda.views import View
from ....jit import simd
from .reduce import group_of, width_of
from .row_kernels import segment_of


def _slots(is_even):
    """How a kernel finds the slot of a row, and where it starts: all of one width, or by offsets."""
    if is_even:
        return device(lambda slots, count, i: i // slots), device(lambda slots, s: s * slots)
    return device(lambda slots, count, i: segment_of(slots, count, i)), device(lambda slots, s: vector.number(slots, s))


@functools.cache
def _copy_kernel(width, is_even, has_rows):
    slot_of, start_of = _slots(is_even)

    @device
    def padding(source, pads, side, columns, j):
        return vector.load(pads, side * columns + j, width) if has_rows else simd.full(source, width, pads)

    @cuda.jit
    def kernel(source, starts, stops, slots, count, lead, pads, columns, bits, rows, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < rows:
            s = slot_of(slots, count, i)
            at, row = i - start_of(slots, s) - lead, vector.number(starts, s)
            there, j = (at >= 0) & (at < vector.number(stops, s) - row), lane * width
            while j < columns:
                x = vector.load_where(there, source, (row + at) * columns + j, width)
                if not there:
                    x = padding(source, pads, 0 if at < 0 else 1, columns, j)
                vector.store(out, i * columns + j, x)
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def copy_runs(source, runs, slots, out, pad=0, lead=0):
    """Fill every slot of ``out`` with a run of rows: padding, the rows as far as they fit, padding.

    Parameters
    ----------
    source : View of shape (rows, *item)
    runs : pair of Views of int64
        Where the rows of each run start, and where they stop.
    slots : View of int64, or int
        Offsets over all rows of ``out``: slot s is ``out[slots[s]:slots[s + 1]]``. Or how many rows every slot has.
    out : View of shape (rows, *item)
    pad : scalar, or View of shape (2, *item)
        What stands before a run, and what stands behind it.
    lead : int
        How many rows of padding stand before a run; below 0, how many of its rows are left out.
    """
    if not out.size:
        return
    has_rows, is_even = type(pad) is View, type(slots) is int
    columns = out.columns
    width = width_of(columns, source, out, *([pad] if has_rows else []))
    bits = group_of(columns, width)
    if not len(source):
        source = source.like((1, *source.shape[1:]))  # which is not read, but has an address
    pad = pad if has_rows else source.compute_dtype.type(pad)
    kernel = _copy_kernel(width, is_even, has_rows)
    (starts, stops), rows, count = runs, len(out), len(runs[0])
    launch(kernel, rows << bits, source, starts, stops, slots, count, lead, pad, columns, bits, rows, out)


@functools.cache
def _run_kernel(width):
    @cuda.jit
    def kernel(source, starts, to, offsets, ranges, columns, bits, n, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            r = segment_of(offsets, ranges, i)
            k = i - vector.number(offsets, r)
            row, place = (vector.number(starts, r) + k) * columns, (vector.number(to, r) + k) * columns
            j = lane * width
            while j < columns:
                vector.store(out, place + j, vector.load(source, row + j, width))
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def move_runs(source, place, out):
    """Copy runs of rows to where they go; what no run covers stays as it is.

    Parameters
    ----------
    source, out : View of shape (rows, *item)
    place : CopyPlan
        Of arrays on the CPU. Runs may overlap in ``source``, not in ``out``.
    """
    starts, stops, to = place
    n, rows = len(starts), int((stops - starts).sum())
    if not rows * source.columns:
        return
    sent = source.send(np.concatenate([starts, to, np.zeros(1, np.int64), np.cumsum(stops - starts)]))
    starts, to, offsets = sent.part(0, n), sent.part(n, 2 * n), sent.part(2 * n, 3 * n + 1)
    columns, width = source.columns, width_of(source.columns, source, out)
    bits = group_of(columns, width)
    launch(_run_kernel(width), rows << bits, source, starts, to, offsets, n, columns, bits, rows, out)


@cuda.jit
def _stretch(offsets, n, step, out):
    i = cuda.grid(1)
    while i < n:
        out[i] = vector.number(offsets, i) + i * step
        i += cuda.gridsize(1)


def stretched(offsets, step):
    """Offsets of segments that are ``step`` rows longer."""
    out = offsets.like(offsets.shape, np.int64)
    launch(_stretch, out.size, offsets, out.size, step, out)
    return out


@cuda.jit
def _clip(numbers, n, low, high, out):
    i = cuda.grid(1)
    while i < n:
        out[i] = min(max(vector.number(numbers, i), low), high)
        i += cuda.gridsize(1)


def clipped(numbers, low, high):
    """Integers, none below ``low`` and none above ``high``."""
    out = numbers.like(numbers.shape, np.int64)
    launch(_clip, out.size, numbers, out.size, low, high, out)
    return out


@cuda.jit
def _ramp(n, step, out):
    i = cuda.grid(1)
    while i < n:
        out[i] = i * step
        i += cuda.gridsize(1)


def even(like, count, width):
    """Offsets of ``count`` slots of ``width`` rows each, on the device of a View."""
    out = like.like((count + 1,), np.int64)
    launch(_ramp, count + 1, count + 1, width, out)
    return out


def between(offsets):
    """The runs between offsets."""
    return offsets.part(0, len(offsets) - 1), offsets.part(1, len(offsets))
