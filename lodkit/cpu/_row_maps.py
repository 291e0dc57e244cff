"""Segments of rows copied to other places, with padding around them: what packing, padding and cutting share.

Rows are bytes here: one compiled kernel serves every type of value.
"""

from __future__ import annotations

import numpy as np

from .. import simd
from ..jit import jitable, prange, settings, threaded
from ._rows import first_at_least

BLOCK = 4096  # bytes of padding that are copied at once
CHUNK = 1 << 18  # bytes in one step of a prange
ZEROS = np.zeros(2 * BLOCK, np.uint8)


def copy_runs(source, starts, stops, slots, out, pads=ZEROS, lead=0):
    """Fill every slot of ``out`` with a run of rows: padding, the rows as far as they fit, padding.

    Parameters
    ----------
    source : array of shape (rows, *item)
    starts, stops : arrays of int64
        The rows of each run.
    slots : array of int64
        Offsets over all rows of ``out``: slot s is ``out[slots[s]:slots[s + 1]]``.
    out : C-contiguous array of shape (rows, *item)
        It may hold Python objects; then padding is what it holds already.
    pads : array of bytes
        From ``number_pads`` or ``row_pads``: what stands before a run, and what stands behind it.
    lead : int
        How many rows of padding stand before a run; below 0, how many of its rows are left out.
    """
    if not out.size:
        return
    if out.dtype.hasobject:
        for start, stop, first, last in zip(starts, stops, slots[:-1] + lead, slots[1:], strict=True):
            out[first : min(last, first + stop - start)] = source[start : min(stop, start + last - first)]
        return
    source = np.ascontiguousarray(source, out.dtype).reshape(-1).view(np.uint8)
    size = out.nbytes // len(out)
    chunk = min(settings.chunk_rows, max(1, CHUNK // size))
    inputs = map(_constant, (source, starts, stops, slots, pads))
    _copy(out.size, *inputs, lead, size, chunk, len(out), out.reshape(-1).view(np.uint8))


def _constant(array):
    """A read-only view, whatever the array is: so there is one type to compile for."""
    array = array.view()
    array.flags.writeable = False
    return array


def even(count, width):
    """Offsets of ``count`` slots of ``width`` rows each."""
    return np.arange(count + 1) * width


def number_pads(pad):
    """Padding with one number, a NumPy scalar."""
    return np.full(2 * max(1, BLOCK // pad.itemsize), pad).view(np.uint8)


def row_pads(before, behind):
    """Padding with a row before, and a row behind every run."""
    repeats = max(1, BLOCK // max(1, before.nbytes))
    return np.concatenate([np.tile(before.reshape(-1), repeats), np.tile(behind.reshape(-1), repeats)]).view(np.uint8)


@jitable
def _fill(pads, which, first, last, out):
    block = len(pads) // 2
    for at in range(first, last, block):
        simd.copy(out, at, pads, which * block, min(block, last - at))


@threaded
def _copy(source, starts, stops, slots, pads, lead, size, chunk, rows, out):
    for c in prange((rows + chunk - 1) // chunk):
        first, last = c * chunk, min(rows, (c + 1) * chunk)
        s = first_at_least(slots, first + 1) - 1
        while first < last:
            begin, end = slots[s] + lead, min(slots[s + 1], last)
            run = min(max(begin, first), end)
            rest = min(max(begin + stops[s] - starts[s], run), end)
            _fill(pads, 0, first * size, run * size, out)
            simd.copy(out, run * size, source, (starts[s] + run - begin) * size, (rest - run) * size)
            _fill(pads, 1, rest * size, end * size, out)
            first, s = end, s + 1
