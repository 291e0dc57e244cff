"""Kernels over rows that several families share."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import vector
from ....arrays.cuda.launch import cuda, launch
from ....jit import simd
from .reduce import group_of, width_of
from .reduce_kernels import reader
from .scan import offsets_of


@functools.cache
def _copy_kernel(width):
    read = reader(width, True)

    @cuda.jit
    def kernel(table, ids, padding, height, columns, bits, n, out):
        thread = cuda.grid(1)
        i, lane = thread >> bits, thread & ((1 << bits) - 1)
        while i < n:
            j = lane * width
            while j < columns:
                vector.store(out, i * columns + j, read(table, ids, i, j, columns, height, padding))
                j += width << bits
            i += cuda.gridsize(1) >> bits

    return kernel


def gather(table, ids, padding_idx, out):
    """``out[i] = table[ids[i]]``; zeros where the id is ``padding_idx``, or outside the table."""
    if not out.size:
        return
    columns = table.columns
    width = width_of(columns, table, out)
    bits, padding = group_of(columns, width), -1 if padding_idx is None else padding_idx
    source = table if len(table) else table.like((1, *table.shape[1:]))
    launch(_copy_kernel(width), ids.size << bits, source, ids, padding, len(table), columns, bits, ids.size, out)


def take(x, rows):
    """``x[rows]``, for rows that are there."""
    out = x.like((rows.size, *x.shape[1:]))
    gather(x, rows, None, out)
    return out


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
        columns, width = value.columns, width_of(value.columns, value, out)
        bits = group_of(columns, width)
        launch(_put_kernel(width, adds), len(rows) << bits, rows, value, columns, bits, len(rows), out)


def add_rows(rows, value, out):
    """``out[rows[i]] += value[i]``, for rows that are listed once and are there."""
    put_rows(rows, value, out, adds=True)


@cuda.jit
def _is_other(ids, n, padding, kept):
    i = cuda.grid(1)
    while i < n:
        kept[i] = 1 if vector.number(ids, i) != padding else 0
        i += cuda.gridsize(1)


@cuda.jit
def _list_kept(starts, n, order):
    """Where the rows stand that are kept: those before which one fewer is kept than behind."""
    i = cuda.grid(1)
    while i < n:
        if vector.number(starts, i) < vector.number(starts, i + 1):
            order[vector.number(starts, i)] = i
        i += cuda.gridsize(1)


def positions_of(kept):
    """Where a vector of 0 and 1 is 1, ascending. Waits for the device, to know how many there are."""
    n, starts = kept.size, offsets_of(kept)
    return listed(starts, int(starts.part(n, n + 1).read()[0]))


def listed(starts, count):
    """The same of running sums of 0 and 1, from 0, whose last is known."""
    order, n = starts.like((count,), np.int64), starts.size - 1
    launch(_list_kept, n, starts, n, order)
    return order


def rows_without(padding, ids, rows):
    """Ids other than ``padding``, and their rows. Waits for the device, to know how many there are."""
    kept = ids.like((ids.size,), np.int64)
    launch(_is_other, ids.size, ids, ids.size, padding, kept)
    order = positions_of(kept)
    left, value = ids.like(order.shape, np.int64), rows.like((order.size, *rows.shape[1:]))
    gather(ids, order, None, left)
    gather(rows, order, None, value)
    return left, value
