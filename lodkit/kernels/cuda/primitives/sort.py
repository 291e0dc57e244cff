"""Bring equal ids together on a GPU: a stable radix sort of ids with their positions, and the table of their runs.

Digits of at most 8 bits, the least significant first. In every pass each block counts the digits of its chunk; running
sums of the counts say where a chunk's ids of each digit go; and a second look brings them there, tile by tile, each
sorted in shared memory first so that what is written lies together. Of few ids, it counts the next pass's digits, too.
Nothing depends on the order of threads.
"""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import BLOCK, cuda, device, launch, vector
from . import cub, scan
from .reduce_kernels import FULL_WARP_MASK, WARP
from .runs import buffers_of_runs
from .scan import (
    WARP_BITS,
    WARPS,
    counts_in_warp,
    number_now,
    scan_kernel,
    sum_before_thread,
    sums_in_chunks,
    totals_of,
)

DIGIT_BITS = 8
# A block has a thread for each digit.
DIGITS = 1 << DIGIT_BITS
#: Ids of a tile that a thread has, at most: a warp's are consecutive, its lanes take every 32nd. Where they are int64
#: a tile, with its positions, fits into 48 KiB of shared memory.
ITEMS, WIDE_ITEMS, LEAST_ITEMS = 16, 8, 4
# Counts of up to this number of chunks are made a pass ahead, and summed by every block for itself: 75 us of 120.
FEW_CHUNKS = 64
# Below this, ids and positions are int32.
NARROW = 1 << 31


@functools.cache
def _reader(first, stride, items):
    """Reader of a thread's ids of a tile into ``keys``: every ``stride``-th of the ``left`` ones from i on.

    In the first pass they are the caller's: those outside ``[0, height)`` become ``height``. Behind the last comes -1,
    whose digits are the largest.
    """

    @device
    def read(ids, i, left, height, keys):
        for k in range(items):
            key = number_now(ids, i + stride * k) if stride * k < left else -1
            if first:
                key = np.int64(min(np.uint64(key), np.uint64(height))) if stride * k < left else -1
            keys[k] = key

    return read


@device
def digit_of(key, shift, mask):
    # The last mask tells the compiler that no index is negative.
    return (key >> shift) & mask & (DIGITS - 1)


@functools.cache
def count_kernel(first, items):
    """The kernel that counts the digits of every chunk: ``counts[digit * chunks + chunk]``; zeros for later passes."""
    read, tile = _reader(first, BLOCK, items), BLOCK * items

    @cuda.jit
    def kernel(ids, n, height, shift, mask, chunk, chunks, passes, counts):
        seen, keys = cuda.shared.array(DIGITS, np.int32), cuda.local.array(items, np.int64)
        thread = cuda.threadIdx.x
        i, stop = cuda.blockIdx.x * chunk + thread, min(n, (cuda.blockIdx.x + 1) * chunk)
        seen[thread] = 0
        cuda.syncthreads()
        while i < stop:
            left = np.int32(min(stop - i, tile))
            read(ids, i, left, height, keys)
            for k in range(items):
                if BLOCK * k < left:
                    cuda.atomic.add(seen, digit_of(keys[k], shift, mask), 1)
            i += tile
        cuda.syncthreads()
        place = thread * chunks + cuda.blockIdx.x
        counts[place] = seen[thread]
        for p in range(1, passes):
            counts[p * DIGITS * chunks + place] = 0

    return kernel


@device
def count_digits(keys, items, shift, mask, counts):
    """Count the digits of a warp's ids."""
    warp, lane = cuda.threadIdx.x >> WARP_BITS, cuda.threadIdx.x & (WARP - 1)
    for k in range(DIGITS // WARP):
        counts[warp, lane + WARP * k] = 0
    cuda.syncwarp(FULL_WARP_MASK)
    for k in range(items):
        cuda.atomic.add(counts, (warp, digit_of(keys[k], shift, mask)), 1)


@device
def next_place(digit, counts):
    """Place of the warp's next id of this digit, for each lane in turn; advances ``counts``."""
    warp, lane = cuda.threadIdx.x >> WARP_BITS, cuda.threadIdx.x & (WARP - 1)
    same = np.int64(cuda.match_any_sync(FULL_WARP_MASK, np.int32(digit))) & FULL_WARP_MASK
    place = counts[warp, digit] + cuda.popc(same & ((1 << lane) - 1))
    cuda.syncwarp(FULL_WARP_MASK)
    if same >> lane == 1:
        counts[warp, digit] = place + 1
    cuda.syncwarp(FULL_WARP_MASK)
    return place


@device
def place_digits(counts, totals):
    """Turn every warp's counts into where its ids go in the sorted tile.

    Returns where this thread's digit starts in the tile, and how many ids have it. All threads have to call it, and
    wait before and after.
    """
    digit, count = cuda.threadIdx.x, np.int64(0)
    for w in range(WARPS):
        count += counts[w, digit]
    start, _ = sum_before_thread(count, totals)
    place = start
    for w in range(WARPS):
        here = counts[w, digit]
        counts[w, digit] = place
        place += here
    return start, count


def _start_of_chunk(summed):
    """First place of the block's ids of a thread's digit: behind smaller digits, and its own in earlier chunks.

    ``counts`` has, from ``row`` on, a row of chunks for every digit; where ``summed``, ``sums_in_chunks`` of that.
    """

    @device
    def start_summed(counts, row, chunks, totals):
        row, chunk = row + cuda.threadIdx.x * chunks, cuda.blockIdx.x
        smaller, _ = sum_before_thread(vector.number(counts, row + chunks - 1), totals)
        return smaller + (vector.number(counts, row + chunk - 1) if chunk > 0 else 0)

    @device
    def start(counts, row, chunks, totals):
        row += cuda.threadIdx.x * chunks
        earlier = count = np.int64(0)
        for c in range(chunks):
            here = vector.number(counts, row + c)
            earlier += here if c < cuda.blockIdx.x else 0
            count += here
        smaller, _ = sum_before_thread(count, totals)
        return smaller + earlier

    return start_summed if summed else start


@functools.cache
def _tile_sorter(first, items):
    """Writer of a warp's ids of a tile, and their positions, to the places in ``counts``."""
    read = _reader(first, WARP, items)

    @device
    def sort(ids, order, i, left, height, shift, mask, counts, keys, places, tile_ids, tile_order):
        read(ids, i, left, height, keys)
        for k in range(items):
            places[k] = next_place(digit_of(keys[k], shift, mask), counts)
            tile_ids[places[k]] = keys[k]
        for k in range(items):
            position = i + WARP * k
            if not first:
                position = vector.number(order, position) if WARP * k < left else 0
            tile_order[places[k]] = position

    return sort


@functools.cache
def scatter_kernel(first, summed, counts_next, kind, items):
    """The kernel that brings ids and positions, both of one type, where they go by a digit of ``bits``.

    In the first pass the position of the i-th id is i. ``counts`` has, from ``row`` on, what ``count_kernel`` gives, or
    ``sums_in_chunks`` of that where ``summed``. Where it ``counts_next``, it adds the counts of the next pass behind
    them: chunks are tiles then.
    """
    read, sort, tile = _reader(first, WARP, items), _tile_sorter(first, items), BLOCK * items
    start_of_chunk, tile_bits = _start_of_chunk(summed), tile.bit_length() - 1

    @cuda.jit
    def kernel(ids, order, n, height, shift, mask, chunk, chunks, bits, row, counts, ids_out, order_out):
        totals, moves = cuda.shared.array(WARPS, np.int64), cuda.shared.array(DIGITS, np.int64)
        seen = cuda.shared.array((WARPS, DIGITS), np.uint32)
        tile_ids, tile_order = cuda.shared.array(tile, kind), cuda.shared.array(tile, kind)
        keys, places = cuda.local.array(items, kind), cuda.local.array(items, np.uint32)
        thread, base = cuda.threadIdx.x, cuda.blockIdx.x * chunk
        stop, goes = min(n, base + chunk), start_of_chunk(counts, row, chunks, totals)
        while base < stop:
            i = base + (thread & -WARP) * items + (thread & (WARP - 1))
            left = np.int32(min(stop - i, tile))
            read(ids, i, left, height, keys)
            count_digits(keys, items, shift, mask, seen)
            cuda.syncthreads()
            start, count = place_digits(seen, totals)
            moves[thread] = goes - start
            goes += count
            cuda.syncthreads()
            # Ids are read a second time, from the cache: to keep them would take more registers than there are.
            sort(ids, order, i, left, height, shift, mask, seen, keys, places, tile_ids, tile_order)
            cuda.syncthreads()
            for place in range(thread, min(tile, stop - base), BLOCK):
                to = moves[digit_of(tile_ids[place], shift, mask)] + place
                ids_out[to], order_out[to] = tile_ids[place], tile_order[place]
                if counts_next:
                    digit = np.int32(DIGITS + digit_of(tile_ids[place], shift + bits, mask))
                    vector.atomic_add(counts, row + digit * np.int32(chunks) + (to >> tile_bits), 1)
            base += tile

    return kernel


def argsort(ids, height):
    """Sort ids, stably.

    Parameters
    ----------
    ids : View of int32 or int64
    height : int
        Ids outside ``[0, height)`` count as ``height``: they come last.

    Returns
    -------
    sorted_ids, order : View of int32, or of int64 where ``height`` or the number of ids is 2^31 or more
        The ids, and the positions in ``ids`` that they come from.
    """
    n, wide = ids.size, max(height, ids.size) >= NARROW
    kind, items = (np.int64, WIDE_ITEMS) if wide else (np.int32, ITEMS)
    if n >= cub.MIN_SORTED_IDS and cub.compute() is not None:
        return cub.sort_pairs(ids, height, kind)
    while items > LEAST_ITEMS and 2 * n <= FEW_CHUNKS * BLOCK * items:
        # With short tiles a small number of ids is on more multiprocessors at once.
        items //= 2
    passes = max(1, -(-height.bit_length() // DIGIT_BITS))
    digit = -(-height.bit_length() // passes)
    # The last order is kept.
    last, others = ids.like((n,), kind), ids.buffers(2 * min(passes, 2) - 1, n, kind)
    pairs, spare = (ids, ids), [others[1:], (others[0], last)] if passes % 2 == 0 else [(others[0], last), others[1:]]
    if not n:
        return spare[0]
    chunk, chunks = scan.share(n, BLOCK * items)
    summed, ahead = chunks > FEW_CHUNKS, chunks <= FEW_CHUNKS and chunk == BLOCK * items
    rows = passes if ahead else 1  # of counts
    counts = ids.like((rows * DIGITS * chunks,), np.int64)
    for p in range(passes):
        where = n, height, p * digit, (1 << digit) - 1, chunk, chunks
        if p == 0 or not ahead:
            launch(count_kernel(p == 0, items), chunks * BLOCK, pairs[0], *where, rows, counts, exact=True)
        starts, row = sums_in_chunks(counts, chunks) if summed else counts, p * DIGITS * chunks if ahead else 0
        kernel = scatter_kernel(p == 0, summed, p + 1 < rows, kind, items)
        launch(kernel, chunks * BLOCK, *pairs, *where, digit, row, starts, *spare[p % 2], exact=True)
        pairs = spare[p % 2]
    return pairs


@device
def is_head(ids, i, height):
    """1 where a run of an id below ``height`` starts in sorted ids, else 0."""
    row, before = number_now(ids, i), number_now(ids, max(i - 1, 0))
    return np.int64(((i == 0) | (row != before)) & (row < height))


@device
def write_run(ids, i, n, height, heads, offsets, rows):
    """Put down the run that starts at i, the ``heads``-th, and where the last one ends; how many there are behind."""
    row, before = vector.number(ids, i), vector.number(ids, i - 1) if i > 0 else -1
    if row != before:
        offsets[heads - 1 if row < height else heads] = i
        if row < height:
            rows[heads - 1] = row
    if i == n - 1:
        rows[n] = heads
        if row < height:
            offsets[heads] = n


def write_runs(sorted_ids, height):
    """The table of the runs of what ``argsort`` gives for this ``height``, as ``found_runs`` reads it."""
    n = sorted_ids.size
    rows, offsets = buffers_of_runs(sorted_ids, n)
    if n:
        chunk, chunks = scan.share(n, BLOCK * scan.ITEMS)
        given = chunks > 1
        totals = totals_of(is_head, sorted_ids, height, chunk, chunks) if given else offsets
        kernel = scan_kernel(is_head, counts_in_warp, write_run, given, scan.ITEMS)
        launch(kernel, chunks * BLOCK, sorted_ids, n, height, chunk, totals, offsets, rows, exact=True)
    return rows, offsets
