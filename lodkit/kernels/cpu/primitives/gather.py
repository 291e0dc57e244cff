"""Kernels over rows that several families share: gather rows, repeat them, scatter them."""

from __future__ import annotations

import functools

import numpy as np

from .... import arrays
from ....arrays import ALIGNED, AS_THEY_ARE, integers, native, words
from ....arrays.ids import ids_in_range
from ....jit import advance, get_num_threads, jitable, parallel_kernel, prange, segment_of, settings, simd
from ....jit.tuning import tuning
from ....lod.copy_runs import STREAM_ROW_BYTES

ROWS_AHEAD = tuning.update_rows_ahead
NO_WEIGHTS = np.empty(0, np.float32)
#: Bytes of a row that has a kernel of its own: of 16 to 64 numbers of single precision. By one for 512 bytes, rows of a
#: table out of the caches took 1.5 to 1.9 of the time (znver4).
ROW_BYTES = (64, 128, 256)
BLOCK = 512  # bytes of short rows that are copied at once: of 1,024, rows of 64 bytes take twice as long
_BYTE = np.dtype(np.uint8)


@jitable
def _copy_numbers(table, ids, padding, out):
    bad = 0
    for i in range(len(out)):
        row = ids[i]
        in_range = np.uint64(row) < np.uint64(len(table))
        bad += not in_range
        out[i] = table[row] if in_range and row != padding else 0
    return bad


@functools.cache
def gather_kernel(row_bytes):
    """Make the kernel of ``out[i] = table[ids[i]]``, zeros where the id is ``padding`` or no row; arrays have one type.

    The kernel returns whether ids are no rows. Of rows of ``row_bytes`` a copy is a few moves, for which one of any
    size, 0, calls a function: 0.6 to 0.8 of the time (znver5).
    """

    @parallel_kernel
    def kernel(table, ids, padding, chunk, out):
        (rows, width), bad = out.shape, 0
        size = row_bytes or table.itemsize * width
        for c in prange((rows + chunk - 1) // chunk):
            first, last = c * chunk, min(rows, (c + 1) * chunk)
            if width == 1:  # a sixth of the time that the loop below takes
                bad += _copy_numbers(table.reshape(-1), ids[first:last], padding, out.reshape(-1)[first:last])
                first = last
            for i in range(first, last):
                row = ids[i]
                simd.prefetch(table, ids[min(i + ROWS_AHEAD, rows - 1)], 0, size)
                in_range = np.uint64(row) < np.uint64(len(table))
                bad += not in_range
                if in_range and row != padding:
                    simd.copy(out, i * size, table, row * size, size)
                else:
                    for d in range(width):
                        out[i, d] = 0
        return bad > 0

    return kernel


@functools.lru_cache(1024)
def choose_gather(many, row_bytes):
    """The kernel for rows of so many bytes; ``many`` are worth one of their own."""
    return gather_kernel(row_bytes if many and row_bytes in ROW_BYTES else 0)


def rows_to_read(table, ids, padding_idx):
    """A table, ids and padding for kernels, which read C-contiguous memory in native byte order.

    Of a table that is neither, only the rows that are asked for, where they are fewer: it is not copied whole.
    """
    if ids is None or ids.size >= len(table) or (table.flags.num & ALIGNED == ALIGNED and table.dtype.isnative):
        return table, ids, padding_idx
    # A private copy: the caller may change the ids meanwhile.
    flat = ids.flatten()
    in_range = (flat >= 0) & (flat < len(table))
    places = np.where(in_range, np.arange(len(flat)), -1)
    if padding_idx is not None:
        padded = flat == padding_idx
        padding_idx = int(np.argmax(padded)) if padded.any() else -1
        places[padded] = padding_idx
    return table[np.where(in_range, flat, 0)], places.reshape(ids.shape), padding_idx


def gather_loop(table, ids):
    """The loop of ``gather``, and what was chosen for these arrays."""
    rows = words(table)
    many = ids.size * rows.shape[1] >= settings.fetch_from
    return choose_gather(many, rows.itemsize * rows.shape[1]), {"prefetch": f"{ROWS_AHEAD} rows ahead"}


def gather(table, ids, padding_idx, out=None, unchecked=False):
    """Return ``table[ids]`` for ids of any shape, zeros where the id is ``padding_idx``, in ``out`` or a new array.

    ``unchecked`` ids that are outside raise, after ``out`` was written: it must be new.
    """
    kind, source, flat, target = table.dtype, table, ids, out
    if table.ndim == 2 and ids.ndim == 1 and kind in AS_THEY_ARE and table.flags.num & ALIGNED == ALIGNED:
        rows, columns = ids.size, table.shape[1]
        size, aligned = rows * columns, out is None
        if out is None:
            make = arrays.small_output if size < settings.parallel_from else arrays.output
            out = target = make((rows, columns), kind)
    else:
        aligned = out is None and table.flags.aligned
        if out is None:
            out = arrays.output(ids.shape + table.shape[1:], native(kind))
        source, flat, padding_idx = rows_to_read(table, ids, padding_idx)
        size, target = out.size, out
        if ids.ndim != 1:
            flat, target = flat.reshape(-1), out.reshape(ids.size, *table.shape[1:])
        source, target = words(source), words(target)
    args = source, flat, -1 if padding_idx is None else padding_idx, settings.chunk_rows, target
    # The stride of a matrix of one row is any number.
    kernel = choose_gather(size >= settings.fetch_from, source.itemsize * source.shape[1])
    if aligned and size < settings.parallel_from:
        kind = source.dtype
        bad = (kernel.entries.get(kind) or kernel.keep_entry(kind, *args))(*args)
    else:
        bad = kernel(size, *args)
    if bad and unchecked:
        ids_in_range(ids, len(table))
    return out


def should_stream(out):
    """True if a result is written past the caches, row by row."""
    return len(out) > 0 and out.nbytes >= max(settings.far_bytes, STREAM_ROW_BYTES * len(out))


def take_rows(data, rows, out=None):
    """``data[rows]`` for rows that are there, most of them beside the one before; zeros for row -1."""
    rows = integers(rows, "rows")  # compiled code reads a few rows without a check of types
    if out is None and data.nbytes < settings.far_bytes and len(rows) <= len(data):
        return gather(data, rows, None)
    out = arrays.output((len(rows), *data.shape[1:]), native(data.dtype), out)
    if not should_stream(out):
        return gather(data, rows, None, out)
    source, target = words(data), words(out)
    _stream_rows(out.size, source, rows, out.nbytes // len(out), settings.chunk_rows, target)
    return out


@parallel_kernel
def _stream_rows(source, rows, size, chunk, out):
    """``out[i] = source[rows[i]]``: 1.5 to 2 times faster than gather_kernel; slower for rows all over a table."""
    for c in prange((len(rows) + chunk - 1) // chunk):
        for i in range(c * chunk, min(len(rows), (c + 1) * chunk)):
            simd.prefetch(source, rows[min(i + ROWS_AHEAD, len(rows) - 1)], 0, size)
            if rows[i] < 0:
                out[i] = 0
            else:
                simd.stream(out, i * size, source, rows[i] * size, size)
        simd.store_fence()


def repeat_rows(data, offsets, out=None):
    """Row s of ``data`` for every row of segment s."""
    out = arrays.output((offsets.item(-1), *data.shape[1:]), native(data.dtype), out)
    if out.size:
        source, target = np.ascontiguousarray(data, out.dtype), out.reshape(-1).view(_BYTE)
        size, far = out.nbytes // len(out), should_stream(out)
        block = size if far or size >= STREAM_ROW_BYTES else BLOCK // size * size
        _repeat(out.size, source.reshape(-1).view(_BYTE), offsets, size, block, far, settings.chunk_rows, target)
    return out


@parallel_kernel
def _repeat(source, offsets, size, block, far, chunk, out):
    """Rows of bytes. Short ones are doubled up to a block of several: half the time of a copy for each."""
    for c in prange((offsets[-1] + chunk - 1) // chunk):
        i, last = c * chunk, min(offsets[-1], (c + 1) * chunk)
        s = segment_of(offsets, i)
        while i < last:
            s = advance(offsets, s, i)
            first, i = i * size, min(last, offsets[s + 1])
            if far:  # the first one, too: 5 rows with a copy of it took 1.7 times as long
                for at in range(first, i * size, size):
                    simd.stream(out, at, source, s * size, size)
                continue
            simd.copy(out, first, source, s * size, size)
            done, stop = size, i * size - first
            while done < stop:
                count = min(done, block, stop - done)
                if block == size:
                    simd.copy(out, first + done, source, s * size, count)
                else:
                    simd.copy(out, first + done, out, first, count)
                done += count
        simd.store_fence()


@parallel_kernel
def put_rows(rows, values, parts, out):
    """``out[rows[i]] = values[i]``, of several for one row the last; a part of ``out`` is written by one thread."""
    share, last = (len(out) + parts - 1) // parts, len(rows) - 1
    size = out.itemsize * out.shape[1]
    for p in prange(parts):
        start, stop = p * share, (p + 1) * share
        for i in range(len(rows)):
            ahead, row = rows[min(i + ROWS_AHEAD, last)], rows[i]
            if start <= ahead < stop:
                simd.prefetch(out, ahead, 0, size)
            if start <= row < stop:
                for d in range(out.shape[1]):
                    out[row, d] = values[i, d]


@parallel_kernel
def put_once(rows, values, out):
    """``out[rows[i]] = values[i]``, for rows that are listed once."""
    for i in prange(len(rows)):
        for d in range(out.shape[1]):
            out[rows[i], d] = values[i, d]


def put_all(rows, values, out):
    """``put_rows`` into two-dimensional ``out``, by as many threads as it takes."""
    if out.size and len(rows):
        parts = get_num_threads() if values.size >= settings.parallel_from else 1
        put_rows(values.size, rows, values, parts, out)


def scatter_rows(rows, values, out):
    """``out[rows[i]] = values[i]``, of several for one row the last."""
    put_all(rows, words(values), words(out))
