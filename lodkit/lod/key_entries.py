"""Compiled functions of ``KeyIndex``."""

from __future__ import annotations

import numpy as np

from ..jit import Numbers, compile_typed, lower_bound

#: Most different keys that are found by insertion; more of them NumPy sorts.
MOST_INSERTED = 1024


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


def sort_entries(keys, distinct, offsets, rows, bounds, examples, starts, stops):
    """Fill the bounds of each key, zeros before, and its entries."""
    numbers, after = np.empty(len(keys), np.int64), np.zeros(len(distinct), np.int64)
    _sort_entries.code(keys, distinct, offsets, rows, numbers, after, bounds, examples, starts, stops)


@compile_typed
def _sort_entries(
    keys: Numbers,
    distinct: Numbers,
    offsets: Numbers,
    rows: Numbers,
    numbers: Numbers,
    after: Numbers,
    bounds: Numbers,
    examples: Numbers,
    starts: Numbers,
    stops: Numbers,
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
            examples[at], starts[at], stops[at] = e, rows[i], rows[i + 1]


def lay_out(index, wanted, examples):
    """Offsets and runs of ``KeyIndex.select``, for the numbers of keys; -1 for one that has no entries."""
    bounds = index.bounds
    runs = np.empty((3, _count_entries.code(wanted, bounds)), np.int64)
    offsets = np.empty(len(wanted) * examples + 1, np.int64)
    _lay_out.code(wanted, bounds, index.examples, index.starts, index.stops, examples, offsets, *runs)
    return offsets, *runs


@compile_typed
def _count_entries(wanted: Numbers, bounds: Numbers):
    count = 0
    for number in wanted:
        if number >= 0:
            count += bounds[number + 1] - bounds[number]
    return count


@compile_typed
def _lay_out(
    wanted: Numbers,
    bounds: Numbers,
    of_entries: Numbers,
    first_rows: Numbers,
    last_rows: Numbers,
    examples: int,
    offsets: Numbers,
    starts: Numbers,
    stops: Numbers,
    to: Numbers,
):
    """Fill the offsets and runs of ``lay_out``."""
    run, end = 0, 0
    for w in range(len(wanted)):
        at, last, number = w * examples, (w + 1) * examples, wanted[w]
        for entry in range(bounds[number] if number >= 0 else 0, bounds[number + 1] if number >= 0 else 0):
            while at <= w * examples + of_entries[entry]:
                offsets[at] = end
                at += 1
            starts[run], stops[run], to[run] = first_rows[entry], last_rows[entry], end
            end += stops[run] - starts[run]
            run += 1
        while at < last:
            offsets[at] = end
            at += 1
    offsets[len(offsets) - 1] = end
