"""Segments of rows copied to other places, with padding around them: what packing, padding and cutting share."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import VALUE_TYPES, upcast
from ....arrays.cuda import View, cuda, device, fill, launch, vector
from ....jit import simd
from ....lod import LoDTensor
from ....lod.offsets import lengths_to_offsets
from .gather import put_rows
from .offsets import send_once
from .reduce import group_of, width_of
from .row_kernels import segment_of


def _ranges(is_even):
    """Device functions for the range of a row, and the start and stop of a range: by one width, or by offsets."""
    if is_even:
        return (
            device(lambda width, count, i: i // width),
            device(lambda width, s: s * width),
            device(lambda width, s: (s + 1) * width),
        )
    number = device(lambda numbers, s: vector.number(numbers, s))
    return device(lambda offsets, count, i: segment_of(offsets, count, i)), number, number


@functools.cache
def _copy_kernel(width, is_even, runs_are_even, has_rows):
    slot_of, start_of, _ = _ranges(is_even)
    _, run_start, run_stop = _ranges(runs_are_even)

    @device
    def padding(source, pads, side, columns, j):
        return vector.load(pads, side * columns + j, width) if has_rows else simd.full(source, width, pads)

    @cuda.jit
    def kernel(source, starts, stops, slots, count, lead, pads, columns, bits, rows, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < rows:
            s = slot_of(slots, count, i)
            at, row = i - start_of(slots, s) - lead, run_start(starts, s)
            there, j = (at >= 0) & (at < run_stop(stops, s) - row), lane * width
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
    runs : View or NumPy array of int64, int, or pair of NumPy arrays of int64
        Offsets of runs that follow one another; the rows of each; or the start and the stop of each run. Nobody may
        change NumPy's offsets, of slots neither: they are sent once.
    slots : View of int64, int, or NumPy array of int64
        Offsets over all rows of ``out``: slot s is ``out[slots[s]:slots[s + 1]]``. Or the rows of each slot.
    out : View of shape (rows, *item)
    pad : scalar, or View of shape (2, *item)
        Padding before a run, and behind it.
    lead : int
        Rows of padding before a run; if negative, rows of the run to leave out.
    """
    if not out.size:
        return
    has_rows, is_even, runs_are_even = type(pad) is View, type(slots) is int, type(runs) is int
    if type(runs) is tuple:
        n = count = len(runs[0])
        # One transfer for all arrays.
        sent = source.send(np.concatenate(runs if is_even else [*runs, slots]))
        starts, stops, slots = sent.part(0, n), sent.part(n, 2 * n), slots if is_even else sent.part(2 * n, len(sent))
    else:
        runs, slots = (send_once(source, x) if type(x) is np.ndarray else x for x in (runs, slots))
        count = len(slots if runs_are_even else runs) - 1
        starts, stops = runs, runs if runs_are_even else runs.part(1, count + 1)
    if has_rows:
        pad = pad.as_words()
    elif out.dtype not in VALUE_TYPES:
        pad, has_rows = fill(out.like((2, *out.shape[1:])), pad).as_words(), True
    source, out = source.as_words(), out.as_words()
    columns = out.columns
    width = width_of(columns, source, out, *([pad] if has_rows else []))
    bits = group_of(columns, width)
    if not len(source):
        # The source is not read, but needs an address.
        source = source.like((1, *source.shape[1:]))
    pad = pad if has_rows else source.compute_dtype.type(upcast(np.asarray(pad)))
    kernel, rows = _copy_kernel(width, is_even, runs_are_even, has_rows), len(out)
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
    ends, n = lengths_to_offsets(stops - starts), len(starts)
    rows = ends.item(-1)
    if not rows * source.columns:
        return
    sent = source.send(np.concatenate([starts, to, ends]))
    starts, to, offsets = sent.part(0, n), sent.part(n, 2 * n), sent.part(2 * n, 3 * n + 1)
    source, out = source.as_words(), out.as_words()
    columns, width = source.columns, width_of(source.columns, source, out)
    bits = group_of(columns, width)
    launch(_run_kernel(width), rows << bits, source, starts, to, offsets, n, columns, bits, rows, out)


def structure(x):
    """Numbers that plans of copies read, on the CPU; None stays None. Synchronises with the device."""
    if isinstance(x, LoDTensor):
        return x.with_values(x.values.read())
    return None if x is None else x.read()


def scatter_rows(rows, values, out):
    """``out[rows[i]] = values[i]``, for rows that are listed once."""
    put_rows(out.send(rows), values, out)
