"""Running sums on a GPU: of lengths, which gives offsets, and of whatever else a kernel can look up.

A chunk of the array belongs to a block, which goes through it tile by tile. Where there are several chunks, they are
summed first, and every block adds up the totals of those before its own: a launch less than to scan these.
"""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import BLOCK, cuda, device, fill, launch, vector
from ....jit import simd
from .reduce_kernels import FULL_WARP_MASK, WARP

WARP_BITS = 5
WARPS = BLOCK // WARP
# Elements of a tile per thread: a warp's are consecutive, so its lanes take every 32nd.
ITEMS = 6
# The totals of at most this number of chunks are one tile.
CHUNKS = 1024


def share(n, tile):
    """Cut ``n`` items into at most CHUNKS chunks of whole tiles; returns how long they are, and how many."""
    chunk = -(-n // (tile * CHUNKS)) * tile
    return chunk, -(-n // chunk)


@device
def number_now(values, at):
    """One element, loaded before the next barrier: a ``vector.number`` may be put off until it is used."""
    return simd.lane(vector.load_written(values, at, 1), 0)


@device
def sums_in_warp(x):
    """The sum of an int64 over this lane and those before it in the warp, and over all."""
    lane = cuda.threadIdx.x & (WARP - 1)
    for k in range(WARP_BITS):
        below = cuda.shfl_up_sync(FULL_WARP_MASK, x, 1 << k)
        x += below if lane >= 1 << k else 0
    return x, cuda.shfl_sync(FULL_WARP_MASK, x, WARP - 1)


@device
def counts_in_warp(x):
    """``sums_in_warp`` of numbers that are 0 or 1."""
    ones = np.int64(cuda.ballot_sync(FULL_WARP_MASK, x != 0)) & FULL_WARP_MASK
    return cuda.popc(ones & ((2 << (cuda.threadIdx.x & (WARP - 1))) - 1)), cuda.popc(ones)


@device
def sum_before_warp(total, totals):
    """Sums of one int64 per warp: over the earlier warps of the block, and over all.

    All threads have to call it, and to wait for each other between two calls. ``totals`` is shared memory for one int64
    a warp. It comes from the kernel: numba-cuda cannot link shared memory of a device function that two others call.
    """
    warp = cuda.threadIdx.x >> WARP_BITS
    totals[warp] = total
    cuda.syncthreads()
    before = everything = np.int64(0)
    for w in range(WARPS):
        before += totals[w] if w < warp else 0
        everything += totals[w]
    return before, everything


@device
def sum_before_thread(x, totals):
    """Sums of one int64 per thread: over the earlier threads of the block, and over all."""
    upto, total = sums_in_warp(x)
    before, everything = sum_before_warp(total, totals)
    return before + upto - x, everything


@functools.cache
def totals_kernel(value):
    """Kernel of the sum of ``value`` over each chunk; ``scan_kernel`` describes the arguments."""

    @cuda.jit
    def kernel(x, n, limit, chunk, totals):
        shared = cuda.shared.array(WARPS, np.int64)
        i = cuda.blockIdx.x * chunk + cuda.threadIdx.x
        stop = min(n, (cuda.blockIdx.x + 1) * chunk)
        total = np.int64(0)
        while i < stop:
            total += value(x, i, limit)
            i += BLOCK
        _, total = sum_before_thread(total, shared)
        if cuda.threadIdx.x == 0:
            totals[cuda.blockIdx.x] = total

    return kernel


@functools.cache
def scan_kernel(value, in_warp, write, given, items):
    """Kernel that passes ``write`` the running sum of ``value`` up to every i, i included.

    Parameters
    ----------
    value : device function of (x, i, limit)
    in_warp : device function
        ``sums_in_warp``, or ``counts_in_warp`` for values 0 and 1.
    write : device function of (x, i, n, limit, upto, out, also)
        ``upto`` is the running sum.
    given : bool
        True if ``sums`` has the sum of ``value`` over each chunk. Otherwise every chunk starts from 0.
    items : int
        Elements of a tile per thread.
    """

    @cuda.jit
    def kernel(x, n, limit, chunk, sums, out, also):
        totals, upto = cuda.shared.array(WARPS, np.int64), cuda.local.array(items, np.int64)
        thread, base = cuda.threadIdx.x, cuda.blockIdx.x * chunk
        stop = min(n, base + chunk)
        start = np.int64(0)
        if given:
            for c in range(thread, cuda.blockIdx.x, BLOCK):
                start += vector.number(sums, c)
            _, start = sum_before_thread(start, totals)
        while base < stop:
            i = base + (thread & -WARP) * items + (thread & (WARP - 1))
            left = np.int32(min(stop - i, BLOCK * items))
            for k in range(items):
                # A branch would keep the loads apart.
                number = value(x, i + min(WARP * k, left - 1), limit)
                upto[k] = number if WARP * k < left else 0
            cuda.syncthreads()
            total = np.int64(0)
            for k in range(items):
                inside, here = in_warp(upto[k])
                upto[k] = total + inside
                total += here
            before, everything = sum_before_warp(total, totals)
            for k in range(items):
                if WARP * k < left:
                    write(x, i + WARP * k, n, limit, start + before + upto[k], out, also)
            start += everything
            base += BLOCK * items

    return kernel


@device
def length(x, i, limit):
    return number_now(x, i)


@device
def write_offset(x, i, n, limit, upto, out, also):
    out[i + 1] = upto
    if i == 0:
        out[0] = 0


@device
def write_sum(x, i, n, limit, upto, out, also):
    out[i] = upto


def totals_of(value, x, limit, chunk, chunks):
    """Sum of ``value`` over every chunk."""
    totals = x.like((chunks,), np.int64)
    launch(totals_kernel(value), chunks * BLOCK, x, x.size, limit, chunk, totals, exact=True)
    return totals


def offsets_of(lengths):
    """Offsets of consecutive segments: a View of int64, one more than there are int32 or int64 lengths, from 0."""
    n, out = lengths.size, lengths.like((lengths.size + 1,), np.int64)
    if not n:
        return fill(out, 0)
    chunk, chunks = share(n, BLOCK * ITEMS)
    given = chunks > 1
    totals = totals_of(length, lengths, 0, chunk, chunks) if given else out
    kernel = scan_kernel(length, sums_in_warp, write_offset, given, ITEMS)
    launch(kernel, chunks * BLOCK, lengths, n, 0, chunk, totals, out, out, exact=True)
    return out


def sums_in_chunks(x, chunk):
    """The running sum up to each element of an int64 View, that one included, from 0 again after every ``chunk``."""
    n, out = x.size, x.like((x.size,), np.int64)
    kernel = scan_kernel(length, sums_in_warp, write_sum, False, ITEMS)
    launch(kernel, -(-n // chunk) * BLOCK, x, n, 0, chunk, out, out, out, exact=True)
    return out
