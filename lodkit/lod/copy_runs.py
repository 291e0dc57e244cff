"""Segments of rows copied to other places, with padding around them: what packing, padding and cutting share.

Rows are bytes here: one compiled kernel serves every type of value. Rows in an order that has no runs, as the steps of
time-major arrays, are copied by their numbers: gather, -1 for padding.
"""

from __future__ import annotations

import functools

import numpy as np

from ..arrays.sizes import checked_size
from ..jit import Bytes, Numbers, compile_typed, jitable, lower_bound, parallel_kernel, prange, settings, simd
from ..jit.tuning import tuning
from .offsets import lengths_to_offsets

STREAM_BYTES = tuning.far_bytes  # long runs of a result that no cache holds go past the caches
STREAM_ROW_BYTES = 256  # bytes
# Of ``settings.parallel_from``: sequences of fewer numbers than this are few. One thread plans and copies them in one
# compiled call, in 0.4 to 0.7 of the time of a plan and two threads; of four times as many in the same time (znver4).
FEW_MULTIPLE = 4
BLOCK = 4096  # bytes of padding that are copied at once
CHUNK = 1 << 18  # bytes in one step of a prange
# NumPy finds this type in 60 ns.
_BYTE = np.dtype(np.uint8)
_NO_BYTES = np.empty(0, _BYTE)
ZEROS = np.zeros(2 * BLOCK, _BYTE)
NONE = np.empty(0, np.int64)


def copy_runs(source, runs, slots, out, pad=0, lead=0):
    """Fill every slot of ``out`` with a run of rows: padding, the rows as far as they fit, padding.

    Parameters
    ----------
    source : array of shape (rows, *item)
    runs : array of int64, int, or pair of arrays of int64
        Offsets of runs that follow one another; the rows of each; or the start and the stop of each run. Arrays, of
        slots too, are C-contiguous: compiled code reads a few without a check of types.
    slots : array of int64, or int
        Offsets over all rows of ``out``: slot s is ``out[slots[s]:slots[s + 1]]``. Or the rows of each slot.
    out : C-contiguous array of shape (rows, *item)
        It may hold Python objects; then padding is what it holds already, and none of it leads.
    pad : scalar, or array of shape (2, *item)
        Padding before a run, and behind it.
    lead : int
        Rows of padding before a run; if negative, rows of the run to leave out.
    """
    if not out.nbytes:
        return
    dtype = out.dtype
    if dtype.hasobject:
        _copy_objects(source, runs, slots, out)
        return
    if type(runs) is int:
        starts, stops, run = NONE, NONE, runs
    else:
        (starts, stops), run = runs if type(runs) is tuple else (runs, runs[1:]), -1
    slots, slot = (NONE, slots) if type(slots) is int else (slots, -1)
    source, target, rows, pads = as_bytes(source, dtype), bytes_of(out), len(out), _padding(pad, dtype)
    size = len(target) // rows
    if out.size < settings.parallel_from:
        _copying_few()(source, starts, stops, run, slots, slot, pads, lead, size, rows, rows, target)
    else:
        chunk = min(settings.chunk_rows, max(1, CHUNK // size))
        _copy(out.size, source, starts, stops, run, slots, slot, pads, lead, size, chunk, rows, target)


def _copy_objects(source, runs, slots, out):
    """Copy runs of Python objects."""
    runs = even_slots(len(slots) - 1, runs) if type(runs) is int else runs
    starts, stops = runs if type(runs) is tuple else runs_between(runs)
    slots = even_slots(len(starts), slots) if type(slots) is int else slots
    for start, stop, first, last in zip(starts, stops, *runs_between(slots), strict=True):
        out[first : min(last, first + stop - start)] = source[start : min(stop, start + last - first)]


def move_runs(source, place, out):
    """Copy runs of rows to their places; other rows of ``out`` stay as they are.

    Parameters
    ----------
    source : array of shape (rows, *item)
    place : CopyPlan, or three C-contiguous arrays of int64
        Start and stop of each run, and its first row in ``out``. Runs may overlap in ``source``, not in ``out``.
    out : C-contiguous array of shape (rows, *item)
        It may hold Python objects.
    """
    starts, stops, to = place
    dtype = out.dtype
    if dtype.hasobject:
        for start, stop, first in zip(starts.tolist(), stops.tolist(), to.tolist(), strict=True):
            out[first : first + stop - start] = source[start:stop]
    elif out.nbytes and len(source):
        source, target, size = as_bytes(source, dtype), bytes_of(out), out.nbytes // len(out)
        if out.size < settings.parallel_from:
            move_few.code(source, starts, stops, to, size, target)
        else:
            offsets = lengths_to_offsets(stops - starts)
            chunk, work = min(settings.chunk_rows, max(1, CHUNK // size)), offsets.item(-1) * size // out.itemsize
            _move(work, source, starts, to, offsets, size, chunk, target)


def append_runs(xs, bounds, offsets, out):
    """Fill rows ``offsets[s]:offsets[s + 1]`` of ``out`` with run s of every array, one behind another.

    Run s of ``xs[k]`` is its rows ``bounds[k][s]:bounds[k][s + 1]``. By one thread, in fewer steps than ``move_runs``;
    all offsets are C-contiguous int64.
    """
    if out.nbytes:
        size, target, to = out.nbytes // len(out), bytes_of(out), offsets[:-1].copy()
        for x, b in zip(xs, bounds, strict=True):
            _append_runs.code(as_bytes(x, out.dtype), b, to, size, target)


def even_slots(count, width):
    """Offsets of ``count`` slots of ``width`` rows each."""
    stop = checked_size((count + 1) * width, "the number of rows of all slots")
    return np.arange(0, stop, width) if width else np.zeros(count + 1, np.int64)


def as_bytes(rows, dtype):
    """C-contiguous rows of a type as bytes."""
    if rows.dtype is dtype:
        try:
            # Takes half of the time of a look at the flags and ravel().view().
            return np.frombuffer(rows, _BYTE)
        except ValueError:  # not C-contiguous, or empty
            pass
    rows = np.ascontiguousarray(rows, dtype)
    return bytes_of(rows) if rows.nbytes else _NO_BYTES


def bytes_of(rows):
    """C-contiguous rows, which are some, as bytes."""
    try:
        return np.frombuffer(rows, _BYTE)
    except ValueError:  # of types that buffers do not know, as times
        return rows.reshape(-1).view(_BYTE)


def _padding(pad, dtype):
    """Padding before a run, then behind it, as bytes, each repeated to fill a block."""
    if type(pad) is int and pad == 0:
        return ZEROS
    pad = np.asarray(pad, dtype)
    if pad.ndim:
        rows = pad.reshape(2, -1)
        return np.tile(rows, max(1, BLOCK // rows[0].nbytes)).reshape(-1).view(np.uint8)
    return np.full(2 * max(1, BLOCK // pad.itemsize), pad).view(np.uint8)


def runs_between(offsets):
    """The runs between offsets."""
    return offsets[:-1], offsets[1:]


@jitable
def _put(out, i, source, j, count):
    if len(out) >= STREAM_BYTES and count >= STREAM_ROW_BYTES:
        simd.stream(out, i, source, j, count)
    else:
        simd.copy(out, i, source, j, count)


@jitable
def _fill(pads, which, first, last, out):
    block = len(pads) // 2
    # A range with a step divides, which took as long as the copy of a short run.
    while first < last:
        _put(out, first, pads, which * block, min(block, last - first))
        first += block


@jitable
def _bound(offsets, width, s):
    """Where range s starts: its offset, or, if all ranges are of one width, a multiple of that."""
    return offsets[s] if width < 0 else s * width


@parallel_kernel
def _copy(source, starts, stops, run_width, slots, slot_width, pads, lead, size, chunk, rows, out):
    for c in prange((rows + chunk - 1) // chunk):
        first, last = c * chunk, min(rows, (c + 1) * chunk)
        s = lower_bound(slots, first + 1) - 1 if slot_width < 0 else first // slot_width
        while first < last:
            begin, end = _bound(slots, slot_width, s) + lead, min(_bound(slots, slot_width, s + 1), last)
            start = _bound(starts, run_width, s)
            stop = stops[s] if run_width < 0 else start + run_width
            run = min(max(begin, first), end)
            rest = min(max(begin + stop - start, run), end)
            _fill(pads, 0, first * size, run * size, out)
            _put(out, run * size, source, (start + run - begin) * size, (rest - run) * size)
            _fill(pads, 1, rest * size, end * size, out)
            first, s = end, s + 1
        simd.store_fence()


@jitable
def copy_sequence(source, offsets, s, size, out, row):
    """Copy sequence s of bytes to ``out`` from a row on. Returns the row behind it; rows have ``size`` bytes."""
    start, stop = offsets[s], offsets[s + 1]
    simd.copy(out, row * size, source, start * size, (stop - start) * size)
    return row + stop - start


@compile_typed
def _append_runs(source: Bytes, offsets: Numbers, to: Numbers, size: int, out: Bytes):
    for s in range(len(to)):
        to[s] = copy_sequence(source, offsets, s, size, out, to[s])


@compile_typed
def move_few(source: Bytes, starts: Numbers, stops: Numbers, to: Numbers, size: int, out: Bytes):
    """``move_runs`` of bytes by one thread: rows have ``size`` of them."""
    for r in range(len(starts)):
        simd.copy(out, to[r] * size, source, starts[r] * size, (stops[r] - starts[r]) * size)


@parallel_kernel
def _move(source, starts, to, offsets, size, chunk, out):
    rows = offsets[-1]
    for c in prange((rows + chunk - 1) // chunk):
        first, last = c * chunk, min(rows, (c + 1) * chunk)
        r = lower_bound(offsets, first + 1) - 1
        while first < last:
            stop, done = min(offsets[r + 1], last), first - offsets[r]
            _put(out, (to[r] + done) * size, source, (starts[r] + done) * size, (stop - first) * size)
            first, r = stop, r + 1
        simd.store_fence()


#: Compiled code for a few rows, called without Numba's look at types, which are always these: 0.4 us less for twelve.
_copying_few = functools.cache(functools.partial(_copy.entry, ZEROS, NONE, NONE, 0, NONE, 0, ZEROS, 0, 0, 0, 0, ZEROS))
