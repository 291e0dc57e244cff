"""Bring equal integers together on a GPU, whatever their size: first into a range from 0, which the sort needs."""

from __future__ import annotations

import numpy as np

from ....arrays.cuda import BLOCK, cuda, elementwise, launch, vector
from .reduce_kernels import FULL_WARP_MASK, WARP
from .row_kernels import segment_of
from .runs import Runs
from .scan import WARP_BITS, WARPS
from .small_group_by import runs_below

# The host combines the partial extrema of at most this number of blocks.
EXTREMA_BLOCKS = 128
LARGEST = (1 << 63) - 1
# Numbers too far apart for the sort are cut: their high parts, 40 bits, become numbers of their runs.
LOW_BITS = 24


@cuda.jit
def _extremes(numbers, n, found):
    """The smallest and the largest number that each warp sees."""
    i, warp = cuda.grid(1), cuda.grid(1) >> WARP_BITS
    low = high = vector.number(numbers, min(i, n - 1))
    while i < n:
        here = vector.number(numbers, i)
        low, high = min(low, here), max(high, here)
        i += cuda.gridsize(1)
    for k in range(WARP_BITS):
        low = min(low, cuda.shfl_xor_sync(FULL_WARP_MASK, low, 1 << k))
        high = max(high, cuda.shfl_xor_sync(FULL_WARP_MASK, high, 1 << k))
    if cuda.threadIdx.x & (WARP - 1) == 0:
        found[2 * warp], found[2 * warp + 1] = low, high


def extremes(numbers):
    """The smallest and the largest of an int32 or int64 View; 0 and 0 of none. Synchronises with the device."""
    if not numbers.size:
        return 0, 0
    blocks = min(-(-numbers.size // BLOCK), EXTREMA_BLOCKS)
    found = numbers.like((blocks * WARPS, 2), np.int64)
    launch(_extremes, blocks * BLOCK, numbers, numbers.size, found, exact=True)
    seen = found.read()
    return int(seen[:, 0].min()), int(seen[:, 1].max())


@elementwise
def _add(i, numbers, by, out):
    out[i] = vector.number(numbers, i) + by


def _shift_numbers(numbers, by):
    return _add.into(numbers.like(numbers.shape, np.int64), numbers, by)


@elementwise
def _high_parts(i, numbers, out):
    out[i] = vector.number(numbers, i) >> LOW_BITS


@elementwise
def _with_low_parts(i, ranks, numbers, out):
    out[i] = (vector.number(ranks, i) << LOW_BITS) | (vector.number(numbers, i) & ((1 << LOW_BITS) - 1))


@elementwise
def _join_key(i, keys, highs, out):
    key = vector.number(keys, i)
    high = vector.number(highs, key >> LOW_BITS)
    out[i] = (high << LOW_BITS) | (key & ((1 << LOW_BITS) - 1))


def _runs_far_apart(numbers):
    highs = runs_of_numbers(_high_parts.into(numbers.like(numbers.shape, np.int64), numbers))
    keys = _with_low_parts.into(numbers.like(numbers.shape, np.int64), run_of_each(highs), numbers)
    found = runs_below(keys, len(highs.rows) << LOW_BITS)
    return found._replace(rows=_join_key.into(found.rows.like(found.rows.shape), found.rows, highs.rows))


def runs_of_numbers(numbers):
    """The Runs of any int32 or int64 numbers; ``rows`` are the different ones. Synchronises with the device."""
    low, high = extremes(numbers)
    if low >= 0 and high < LARGEST:
        return runs_below(numbers, high + 1)
    if low >= -LARGEST and high - low < LARGEST:
        found = runs_below(_shift_numbers(numbers, -low), high - low + 1)
        return found._replace(rows=_shift_numbers(found.rows, low))
    return _runs_far_apart(numbers)


@elementwise
def _number_runs(i, offsets, runs, order, out):
    out[vector.number(order, i)] = segment_of(offsets, runs, i)


def run_of_each(found: Runs):
    """The number of its run for every position, int64."""
    out = found.order.like(found.order.shape, np.int64)
    return _number_runs.into(out, found.offsets, len(found.rows), found.order)
