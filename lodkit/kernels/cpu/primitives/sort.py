"""Bring equal rows together: a stable radix sort of row numbers, and the table of their runs."""

from __future__ import annotations

import numpy as np

from ....jit import lower_bound, njit, parallel_kernel, prange, settings

DIGIT = 11
# NumPy sorts up to this number times ``settings.few_rows`` elements for each radix pass faster.
FEW_TIMES = 4
# Up to this number times ``settings.chunk_rows`` rows are sorted in one call: 0.4 of the time of 100 rows of a table of
# a million, 0.6 of 1,280, 0.8 of 5,000; of 20,000 rows of a table of 100 by Zipf ids 1.13 (znver3).
AT_ONCE_TIMES = 2


@parallel_kernel
def _count(keys, shift, mask, chunk, counts):
    for c in prange(len(counts)):
        for i in range(c * chunk, min(len(keys), (c + 1) * chunk)):
            counts[c, (keys[i] >> shift) & mask] += 1


@njit
def _starts(counts):
    """Place of the keys of each digit and chunk: by digit, then by chunk."""
    total = 0
    for digit in range(counts.shape[1]):
        for c in range(counts.shape[0]):
            count = counts[c, digit]
            counts[c, digit] = total
            total += count


@parallel_kernel
def _scatter(keys, shift, mask, chunk, starts, out):
    for c in prange(len(starts)):
        for i in range(c * chunk, min(len(keys), (c + 1) * chunk)):
            digit = (keys[i] >> shift) & mask
            out[starts[c, digit]] = keys[i]
            starts[c, digit] += 1


@njit
def _pack(rows, bits, keys):
    for i in range(len(rows)):
        keys[i] = (rows[i] << bits) | i


@njit
def _runs(keys, bits, order, starts, unique):
    """Split sorted keys into their positions and the runs of equal rows; returns the number of runs."""
    mask = (1 << bits) - 1
    runs, last = 0, -1
    for i in range(len(keys)):
        order[i] = keys[i] & mask
        row = keys[i] >> bits
        if row != last:
            starts[runs], unique[runs], last = i, row, row
            runs += 1
    starts[runs] = len(keys)
    return runs


@njit
def sort_few(rows, bits, order, starts, unique):
    """Insertion sort: no histograms to clear for a handful of rows."""
    keys = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        key, at = (rows[i] << bits) | i, i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key
    return _runs(keys, bits, order, starts, unique)


@njit
def _sort_at_once(rows, index_bits, digit, passes, order, starts, unique):
    """Sort by radix without threads, in one call: the digits of all passes are counted as the keys are made."""
    n, mask = len(rows), (1 << digit) - 1
    keys, spare, places = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros((passes, 1 << digit), np.int64)
    for i in range(n):
        keys[i] = (rows[i] << index_bits) | i
        for p in range(passes):
            places[p, (rows[i] >> (p * digit)) & mask] += 1
    for p in range(passes):
        total, shift = 0, index_bits + p * digit
        for d in range(mask + 1):
            count = places[p, d]
            places[p, d] = total
            total += count
        for i in range(n):
            d = (keys[i] >> shift) & mask
            spare[places[p, d]] = keys[i]
            places[p, d] += 1
        keys, spare = spare, keys
    return _runs(keys, index_bits, order, starts, unique)


def _digits(row_bits):
    """Bits of a digit, and passes over digits of so many."""
    passes = -(-row_bits // DIGIT)
    return -(-row_bits // passes), passes


def bits_below(n):
    """Bits of the numbers below n."""
    return max(n - 1, 1).bit_length()


def sort_rows(rows, height):
    """Sort int64 row numbers in ``[0, height)``, stably.

    Returns their positions, sorted by row; where each run of one row starts among these, and the last one ends; and the
    row of each run.
    """
    n = len(rows)
    index_bits, row_bits = bits_below(n), bits_below(height)
    order, starts, unique = np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    if index_bits + row_bits > 63:
        return _sort_wide(rows)
    if n <= settings.few_rows:
        runs = sort_few(rows, index_bits, order, starts, unique)
    elif n <= AT_ONCE_TIMES * settings.chunk_rows:
        runs = _sort_at_once(rows, index_bits, *_digits(row_bits), order, starts, unique)
    else:
        runs = _runs(_radix(rows, index_bits, row_bits), index_bits, order, starts, unique)
    return order, starts[: runs + 1], unique[:runs]


# A GPU finds runs as it updates by them, so there the two differ.
group_rows = sort_rows


def _radix(rows, index_bits, row_bits):
    """Row and position in one key, sorted by row."""
    n, chunk, (digit, passes) = len(rows), 4 * settings.chunk_rows, _digits(row_bits)
    keys, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    _pack(rows, index_bits, keys)
    for p in range(passes):
        shift = index_bits + p * digit
        counts = np.zeros((-(-n // chunk), 1 << digit), np.int64)
        _count(n, keys, shift, (1 << digit) - 1, chunk, counts)
        _starts(counts)
        _scatter(n, keys, shift, (1 << digit) - 1, chunk, counts, spare)
        keys, spare = spare, keys
    return keys


def _sort_wide(rows):
    """``sort_rows`` where row and position do not fit one key: as many bits at a time as do, the lowest first."""
    index_bits = bits_below(len(rows))
    take, mask, order = 63 - index_bits, (1 << index_bits) - 1, None
    for shift in range(0, 64, take):
        bits = min(take, 64 - shift)
        part = rows if order is None else rows[order]
        if shift + bits == 64:
            # Negative numbers come before others.
            part = part ^ np.int64(-1 << 63)
        here = _radix((part >> shift) & ((1 << bits) - 1), index_bits, bits) & mask
        order = here if order is None else order[here]
    return _runs_in(rows, order)


def sort_numbers(numbers):
    """Sort any int64 numbers, stably; returns what ``sort_rows`` does."""
    n, few = len(numbers), FEW_TIMES * settings.few_rows
    low, high = (int(numbers.min()), int(numbers.max())) if n > 2 * few else (0, 0)
    passes = -(-bits_below(high - low + 1) // DIGIT)
    if n <= few * max(passes, 2):
        return _runs_in(numbers, np.argsort(numbers, kind="stable"))
    if high - low >= 1 << 62:
        return _sort_wide(numbers)
    if low >= 0 and bits_below(high + 1) == bits_below(high - low + 1):
        return sort_rows(numbers, high + 1)
    order, starts, unique = sort_rows(numbers - low, high - low + 1)
    return order, starts, unique + low


def _runs_in(numbers, order):
    """Order, runs and their numbers, given the order."""
    starts, unique = np.empty(len(order) + 1, np.int64), np.empty(len(order), np.int64)
    runs = _list_runs(numbers, order, starts, unique)
    return order, starts[: runs + 1], unique[:runs]


@njit
def _list_runs(numbers, order, starts, unique):
    """Start and number of each run of equal numbers; returns the number of runs."""
    runs = 0
    for i in range(len(order)):
        number = numbers[order[i]]
        if runs == 0 or unique[runs - 1] != number:
            starts[runs], unique[runs] = i, number
            runs += 1
    starts[runs] = len(order)
    return runs


@parallel_kernel
def look_up(queries, distinct, numbers, missing, out):
    """Number of the one of ``distinct``, which ascend, that equals each query."""
    for q in prange(len(queries)):
        run = lower_bound(distinct, queries[q])
        out[q] = numbers[run] if run < len(distinct) and distinct[run] == queries[q] else missing
