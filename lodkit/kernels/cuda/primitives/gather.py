"""Kernels over rows that several families share."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import View, check_as_read, checked_ids, convert, cuda, elementwise, fill, launch, output, vector
from ....jit import simd
from .reduce import group_of, width_of
from .reduce_kernels import reader
from .scan import offsets_of


@functools.cache
def _copy_kernel(width, notes=False):
    read = reader(width, True, notes)

    @cuda.jit
    def kernel(table, ids, padding, height, columns, bits, n, first, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            j = lane * width
            while j < columns:
                vector.store(out, i * columns + j, read(table, ids, i, j, columns, height, padding, first))
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def gather_loop(table, ids):
    """The loop of ``gather`` for these arrays, and what was chosen for them."""
    table = table.as_words()
    width = width_of(table.columns, table)
    return _copy_kernel(width, True), {
        "numbers per load": width,
        "threads for a row": 1 << group_of(table.columns, width),
    }


def gather(table, ids, padding_idx, out=None, unchecked=False):
    """Return ``table[ids]``, zeros where the id is ``padding_idx`` or outside the table, in ``out`` or a new array.

    ``unchecked`` ids are checked here, by the kernel that reads them; those for ``out`` were before.
    """
    columns, padding = table.columns, -1 if padding_idx is None else padding_idx
    unchecked = unchecked and out is None
    if unchecked and not columns:
        checked_ids(ids, len(table))
        unchecked = False
    out = output(table, ids.shape + table.shape[1:], table.dtype) if out is None else out
    if not out.size:
        return out
    table, target = table.as_words(), out.as_words()
    columns = table.columns
    width = width_of(columns, table, target)
    bits = group_of(columns, width)
    source = table if len(table) else table.like((1, *table.shape[1:]))

    def run(first=None):
        kernel, numbers = _copy_kernel(width, first is not None), (padding, len(table), columns, bits, ids.size)
        launch(kernel, ids.size << bits, source, ids, *numbers, ids if first is None else first, target)

    if unchecked:
        check_as_read(ids, len(table), out.size * out.dtype.itemsize, run)
    else:
        run()
    return out


def take_rows(data, rows, out=None):
    """``data[rows]``, by a View of their numbers or NumPy's; zeros for a row outside the data."""
    out = output(data, (len(rows), *data.shape[1:]), data.dtype, out)
    return gather(data, rows if type(rows) is View else data.send(rows), None, out)


take = take_rows


def fill_rows(out, row):
    """Put a row into every row of ``out``."""
    source = convert(row, out.dtype).reshape(1, *out.shape[1:])
    gather(source, fill(out.like((len(out),), np.int64), 0), None, out)


@functools.cache
def _put_kernel(width, adds):
    @cuda.jit
    def kernel(rows, value, columns, bits, n, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            place, j = vector.number(rows, i) * columns, lane * width
            while j < columns and place >= 0:
                x = vector.load(value, i * columns + j, width)
                vector.store(out, place + j, simd.add(vector.load_written(out, place + j, width), x) if adds else x)
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def put_rows(rows, value, out, adds=False):
    """``out[rows[i]] = value[i]``, for rows that are listed once and are there; nothing for row -1."""
    if value.size:
        value, target = value.as_words(), out.as_words()
        columns, width = value.columns, width_of(value.columns, value, target)
        bits = group_of(columns, width)
        launch(_put_kernel(width, adds), len(rows) << bits, rows, value, columns, bits, len(rows), target)
    return out


def add_rows(rows, value, out):
    """``out[rows[i]] += value[i]``, for rows that are listed once and are there."""
    put_rows(rows, value, out, adds=True)


@elementwise
def _is_other(i, numbers, number, kept):
    kept[i] = 1 if vector.number(numbers, i) != number else 0


def differs_from(number, numbers):
    """1 for each element that is not ``number``, else 0."""
    return _is_other.into(numbers.like((numbers.size,), np.int64), numbers, numbers.compute_dtype.type(number))


@elementwise
def _list_kept(i, starts, order):
    """Positions of kept rows: their running count grows by one."""
    if vector.number(starts, i) < vector.number(starts, i + 1):
        order[vector.number(starts, i)] = i


def positions_of(kept):
    """Positions of ones in a vector of 0 and 1, ascending. Synchronises, to read their number."""
    n, starts = kept.size, offsets_of(kept)
    return list_ones(starts, int(starts.part(n, n + 1).read()[0]))


def list_ones(starts, count):
    """Positions of ones, ascending, from running sums of 0 and 1 that start at 0 and end at ``count``."""
    order, n = starts.like((count,), np.int64), starts.size - 1
    _list_kept(n, starts, order)
    return order


def rows_without(padding, ids, rows):
    """Ids other than ``padding``, and their rows. Synchronises with the device."""
    order = positions_of(differs_from(padding, ids))
    return take(ids, order), take(rows, order)
