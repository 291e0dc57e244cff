"""Compiled functions of ``KeyIndex``."""

from __future__ import annotations

import numpy as np

from ..jit import Numbers, Table, compile_typed, lower_bound, parallel_kernel, prange, simd
from .copy_runs import as_bytes

#: Most different keys that are found by insertion; more of them NumPy sorts.
MOST_INSERTED = 1024
#: Examples that a thread copies at once.
BLOCK = 1024


def find_distinct(keys, offsets):
    """The different keys, sorted."""
    found = np.empty(MOST_INSERTED, np.int64)
    count = _insert_keys.code(keys, int(offsets[1]) if len(offsets) > 1 else 0, found)
    return np.unique(keys) if count < 0 else found[:count]


@compile_typed
def _insert_keys(keys: Numbers, period: int, distinct: Numbers):
    """Insert keys into the sorted ones; their number, or -1 if they are too many.

    Examples mostly have the keys of the one before, as many as the first has.
    """
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        if 0 < period <= i and keys[i - period] == key:
            continue
        at = lower_bound(distinct[:count], key)
        if at < count and distinct[at] == key:
            continue
        if count == len(distinct):
            return -1
        for j in range(count, at, -1):
            distinct[j] = distinct[j - 1]
        distinct[at] = key
        count += 1
    return count


def sort_entries(keys, distinct, offsets, rows, bounds, entries):
    """Fill the bounds of each key, zeros before, and its entries."""
    numbers, after = np.empty(len(keys), np.int64), np.zeros(len(distinct), np.int64)
    _sort_entries.code(keys, distinct, offsets, rows, numbers, after, bounds, entries)


@compile_typed
def _sort_entries(
    keys: Numbers,
    distinct: Numbers,
    offsets: Numbers,
    rows: Numbers,
    numbers: Numbers,
    after: Numbers,
    bounds: Numbers,
    entries: Table,
):
    """Count the entries of each key, then put them in the order of keys. ``after`` is the key that came after each."""
    before = 0
    for i in range(len(keys)):
        number = after[before]
        if distinct[number] != keys[i]:
            number = after[before] = lower_bound(distinct, keys[i])
        numbers[i] = before = number
        bounds[number] += 1
    # The end of each key; counted down, its start.
    for n in range(1, len(bounds)):
        bounds[n] += bounds[n - 1]
    for e in range(len(offsets) - 2, -1, -1):
        for i in range(offsets[e + 1] - 1, offsets[e] - 1, -1):
            bounds[numbers[i]] -= 1
            at = bounds[numbers[i]]
            entries[at, 0], entries[at, 1], entries[at, 2] = e, rows[i], rows[i + 1]


def lay_out(index, wanted, examples):
    """Offsets of ``KeyIndex.select``, for the numbers of keys."""
    offsets = np.empty(len(wanted) * examples + 1, np.int64)
    _lay_out.code(wanted, index.bounds, index.entries, examples, offsets)
    return offsets


@compile_typed
def _lay_out(wanted: Numbers, bounds: Numbers, entries: Table, examples: int, offsets: Numbers):
    """Fill the offsets of ``lay_out``."""
    at, end = 0, 0
    for w in range(len(wanted)):
        number = wanted[w]
        for i in range(bounds[number] if number >= 0 else 0, bounds[number + 1] if number >= 0 else 0):
            entry = entries[np.uint64(i)]
            while at <= w * examples + entry[0]:
                offsets[np.uint64(at)] = end
                at += 1
            end += entry[2] - entry[1]
        while at < (w + 1) * examples:
            offsets[at] = end
            at += 1
    offsets[len(offsets) - 1] = end


def copy_entries(index, wanted, offsets, source, out):
    """``KeyIndex.copy_rows``, for the numbers of keys."""
    if out.nbytes:
        examples, size = len(index.lod[0]) - 1, out.nbytes // len(out)
        source, target = as_bytes(source, out.dtype), np.frombuffer(out, np.uint8)
        _copy_entries(out.size, source, wanted, index.bounds, index.entries, offsets, examples, size, BLOCK, target)


@parallel_kernel
def _copy_entries(source, wanted, bounds, entries, offsets, examples, size, block, out):
    """Copy the rows of a block of examples of a key, of which threads share many."""
    blocks = (examples + block - 1) // block
    for c in prange(len(wanted) * blocks):
        w, first = c // blocks, c % blocks * block
        number, row = wanted[w], offsets[w * examples + first]
        own = entries[bounds[number] : bounds[number + 1]] if number >= 0 else entries[:0]
        start, stop = lower_bound(own[:, 0], first), lower_bound(own[:, 0], first + block)
        for i in range(np.uint64(start), np.uint64(stop)):
            count = own[i, 2] - own[i, 1]
            simd.copy(out, row * size, source, own[i, 1] * size, count * size)
            row += count
