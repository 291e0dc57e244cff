"""Segment reductions: choice of the template, and tiles of long segments.

Tiles depend on the lengths and not on the number of threads, so neither do the bits of a result.
"""

from __future__ import annotations

import functools

import numpy as np

from .... import arrays
from ....arrays import ALIGNED, AS_THEY_ARE, matrix, native, total_dtype, upcast
from ....arrays.ids import ids_in_range
from ....jit import get_num_threads, settings
from ....jit.reducers import REDUCERS, Divisor
from ....jit.tuning import SHARED, tuning
from ....lod.offsets import tiles_of
from ....ops.shared.reductions import pad_of, result_dtype
from .flat_kernels import flat_kernel, flat_logsumexp_kernel
from .gather import rows_to_read
from .gradient_kernels import lengths_of, plain, weight_sums
from .reduce_kernels import (
    NO_PREFETCH,
    TILE,
    TOO_LONG,
    Prefetch,
    divide_rows,
    extreme_kernel,
    logsumexp_kernel,
    sum_kernel,
)
from .select_kernels import argreduce_kernel, end_kernel

WIDTHS = (128, 64, 32, 16, 4, 1)
ENDS = ("first", "last")
#: Reductions that divide: the reduction of the total, and the Divisor (a plain integer, which Numba types faster).
_UNDIVIDED = {
    "mean": ("sum", int(Divisor.WEIGHT)),
    "sqrt": ("sum", int(Divisor.ROOT_OF_WEIGHT)),
    "logmeanexp": ("logsumexp", int(Divisor.WEIGHT)),
}
LARGE_OUTPUT = 1 << 18  # numbers of a result from which its memory matters
NO_IDS, NO_WEIGHTS = np.empty(0, np.int64), np.empty(0, np.float32)


def reduce_loop(reduce, values, ids, weights, padding_idx, offsets):
    """The loop of ``reduce_into`` for these arrays, and what was chosen for them."""
    columns, rows = matrix(values).shape[1], len(values) if ids is None else ids.size
    size, row_bytes = rows * columns, columns * values.itemsize
    prefetch, distance, near = choose_prefetch(reduce, size, values, columns, ids is not None)
    whole = size >= settings.parallel_from and row_bytes <= tuning.strip_bytes
    flags = ids is not None, weights is not None, padding_idx is not None
    kernel, _, _, takes_1d = _kernel(reduce, columns, *flags, whole, prefetch)
    facts = {"lanes": 1 if takes_1d or reduce in ENDS else columns if whole else width_of(columns)}
    again = f" and {near}" if prefetch.again else ""
    facts["prefetch"] = f"{distance}{again} rows ahead" if distance else "none: the rows are few, or in the cache"
    longest, tile = max(np.diff(offsets), default=0), TILE * settings.chunk_rows
    facts["tiles"] = f"of {tile} rows" if longest > tile and reduce not in ENDS else "none: no segment is that long"
    return kernel, facts


def reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad, out, unchecked=False):
    """Reduce the rows of every segment into ``out``.

    Parameters
    ----------
    reduce : str
    values : array of shape (rows, columns)
        C-contiguous; float16 as uint16 bits.
    ids : int64 array or None
        Rows to reduce; all, in order, for None.
    weights : array or None
        One a row, with sum and mean.
    padding_idx : int or None
        Rows with this id read as zeros.
    offsets : int64 array
        Checked ones, over ids or rows.
    pad : scalar
        Result of an empty segment, of the type of ``out``.
    out : array of shape (segments, columns)
    unchecked : bool
        Some ids may be outside the values. They raise, after ``out`` was written: it must be new.
    """
    columns, rows, chunk = out.shape[1], len(values) if ids is None else len(ids), settings.chunk_rows
    if columns == 0 or len(offsets) == 1:
        if unchecked:
            ids_in_range(ids, len(values))
        return
    if rows > TILE * chunk:
        tiles, tile_offsets = tiles_of(offsets, TILE * chunk)
        if len(tiles) and reduce not in ENDS:
            if unchecked:
                ids_in_range(ids, len(values))
            reduce_in_tiles(reduce, values, ids, weights, padding_idx, offsets, tiles, tile_offsets, pad, out)
            return
    gather, size = ids is not None, rows * columns
    whole = size >= settings.parallel_from and columns * values.itemsize <= tuning.strip_bytes
    prefetch, fetch, near = choose_prefetch(reduce, size, values, columns, gather)
    kernel, divisor, reports_bad_ids, takes_1d = _kernel(
        reduce, columns, gather, weights is not None, padding_idx is not None, whole, prefetch
    )
    if unchecked and not reports_bad_ids:
        ids_in_range(ids, len(values))
    if takes_1d:
        values, out = values.reshape(-1), out.reshape(-1)
        pad = np.float32(pad.view(np.float16)) if pad.dtype == np.uint16 else pad
    flat = NO_IDS if ids is None else ids
    weights = NO_WEIGHTS if weights is None else weights
    padding = -1 if padding_idx is None else padding_idx
    work, block = out.size if reduce in ENDS else size, settings.block_rows
    bad = kernel(work, values, flat, weights, padding, offsets, pad, divisor, chunk, block, fetch, near, out)
    if bad and unchecked:
        ids_in_range(ids, len(values))


def choose_prefetch(reduce, size, values, columns, gather):
    """How a reduction of ``size`` numbers prefetches, the rows between that and the use of a row, and those between a
    second prefetch and its use.
    """
    nbytes, near_bytes = values.nbytes, settings.near_bytes
    if size < settings.fetch_from or (nbytes <= near_bytes and not gather):
        return NO_PREFETCH, 0, 0
    row_bytes, alternate, near = min(columns * values.itemsize, tuning.strip_bytes), False, 0
    if not gather:
        by_passes = reduce in ("logsumexp", "logmeanexp")  # 16 rows ahead took 1.13 of the time (znver4)
        fetch = (0 if by_passes else tuning.rows_in_order) or tuning.ahead(row_bytes)
    elif nbytes <= max(near_bytes, settings.mid_bytes):
        alternate, fetch = True, tuning.cached_ahead(row_bytes, nbytes, near_bytes)
    else:
        wide = row_bytes >= SHARED and size >= settings.parallel_from and get_num_threads() > 1
        alternate = wide and tuning.shared_rows_ahead > 0
        fetch, near = tuning.both_ahead(row_bytes, alternate)
    return (Prefetch(tuning.level, alternate, near > 0), fetch, near) if fetch else (NO_PREFETCH, 0, 0)


def reduce_in_tiles(reduce, values, ids, weights, padding_idx, offsets, tiles, tile_offsets, pad, out):
    """Reduce the tiles of long segments, in double precision, and then their results; others as in any batch."""
    kind = total_dtype(values.dtype)
    partial = np.empty((len(tiles) - 1, out.shape[1]), kind)
    inner, divisor = _UNDIVIDED.get(reduce, (reduce, int(Divisor.NOTHING)))
    reduce_rows(inner, values, ids, weights, padding_idx, tiles, kind.type(0), partial)
    if divisor:
        total = np.empty(out.shape, kind)
        reduce_rows(inner, partial, None, None, None, tile_offsets, kind.type(0), total)
        weight = lengths_of(offsets) if weights is None else weight_sums(weights, offsets)
        divide_rows(total, weight, pad, divisor, inner == "logsumexp", out)
    else:
        reduce_rows(inner, partial, None, None, None, tile_offsets, pad, out)
        if inner != "logsumexp":
            return
    # A quotient or logarithm of double precision is rounded otherwise: short segments would depend on their batch.
    first = 0
    for s in [*np.flatnonzero(np.diff(offsets) > TILE * settings.chunk_rows), len(offsets) - 1]:
        if s > first:
            some, rows = offsets[first : s + 1], out[first:s]
            reduce_rows(reduce, values, ids, weights, padding_idx, some, pad, rows)
        first = s + 1


def width_of(columns):
    """Lanes of a strip of columns; the last strip may overlap the one before."""
    return next((w for w in WIDTHS if w <= columns), 1)


@functools.lru_cache(1024)
def _kernel(reduce, columns, gather, weighted, padded, whole, prefetch):
    """Kernel of a reduction, its Divisor, whether it reports bad ids and takes arrays of one dimension.

    One of ``whole`` rows takes one strip each.
    """
    reduce, divisor = _UNDIVIDED.get(reduce, (reduce, int(Divisor.NOTHING)))
    width = columns if whole else width_of(columns)
    if reduce in ENDS:
        return end_kernel(reduce == "last"), divisor, False, False
    if columns == 1 and not gather and reduce == "logsumexp":
        return flat_logsumexp_kernel(), divisor, False, True
    if reduce == "logsumexp":
        return logsumexp_kernel(width, gather, padded, prefetch), divisor, False, False
    if columns == 1 and not gather and not weighted:
        return flat_kernel(reduce), divisor, False, True
    if REDUCERS[reduce].start is not None:
        divides = weighted and divisor != 0
        return sum_kernel(reduce, width, gather, weighted, padded, divides, prefetch), divisor, True, False
    return extreme_kernel(reduce, width, gather, padded, prefetch), divisor, False, False


def reduce_with_index(reduce, values, offsets, pad_value, out=None):
    """The maximum or minimum of every segment, as ``reduce_into`` gives it, and its first row: two arrays."""
    out = reduce_into(values, None, None, None, offsets, reduce, pad_value, out)
    return out, argreduce_rows(reduce, values, None, None, offsets, out.shape)


def argreduce_rows(reduce, values, ids, padding_idx, offsets, shape):
    """Position (in ids, or in the rows) of the first extreme of every segment and column; -1 for an empty one."""
    values, ids, padding_idx = rows_to_read(values, ids, padding_idx)
    values = matrix(upcast(values))
    index = np.empty((len(offsets) - 1, values.shape[1]), np.int64)
    padding = -1 if padding_idx is None else padding_idx
    ids = NO_IDS if ids is None else ids
    if index.size:
        argreduce_kernel(reduce)(values.size, values, ids, padding, offsets, settings.chunk_rows, index)
    return index.reshape(shape)


@functools.lru_cache(1024)
def _plan(kind, columns, reduce, asked, pad_value, weights, gather, padded, few, prefetch):
    """Type of the result, pad value, kernel, Divisor, whether it reports bad ids and takes one dimension.

    None for other types. For ``few`` rows the kernel is the compiled code itself, without a check of types by Numba:
    they are the key of this plan. That halves the time of ten segments.
    """
    if kind not in AS_THEY_ARE or columns == 0:
        return None
    dtype, pad = result_of(kind, reduce, asked, pad_value)
    whole = not few and columns * kind.itemsize <= tuning.strip_bytes
    kernel, divisor, reports_bad_ids, takes_1d = _kernel(
        reduce, columns, gather, weights is not None, padded, whole, prefetch
    )
    if few:
        shape, weights = 0 if takes_1d else (0, columns), NO_WEIGHTS if weights is None else np.empty(0, weights)
        values, out = np.empty(shape, kind), np.empty(shape, dtype)
        kernel = kernel.entry(values, NO_IDS, weights, -1, NO_IDS, pad, divisor, 1, 1, 0, 0, out)
    return dtype, pad, kernel, divisor, reports_bad_ids, takes_1d


@functools.lru_cache(1024)
def result_of(dtype, reduce, asked, pad_value):
    """The type of the result, and the pad value in it (as bits where it is float16)."""
    dtype = result_dtype(dtype, reduce, asked)
    pad = pad_of(pad_value, dtype)
    return dtype, pad.view(np.uint16) if dtype == np.float16 else pad


def reduce_into(values, ids, weights, padding_idx, offsets, reduce, pad_value, out=None, dtype=None, unchecked=False):
    """Reduce rows of ``values`` (those at ``ids``, all where it is None) by offsets that were checked.

    ``unchecked`` ids, which ``integers`` gave, raise where they are outside.
    """
    shape, plan, kind = values.shape, None, None
    if weights is not None:
        if weights.dtype not in AS_THEY_ARE or not weights.flags.c_contiguous:
            weights = plain(weights)
        kind = weights.dtype
    segments, ndim = len(offsets) - 1, len(shape)
    if out is None and segments and 0 < ndim < 3 and values.flags.num & ALIGNED == ALIGNED:
        columns = shape[1] if ndim == 2 else 1
        size = segments * columns if reduce in ENDS else values.size if ids is None else ids.size * columns
        few, gather, padded = size < settings.parallel_from, ids is not None, padding_idx is not None
        padding, prefetch, fetch, near = padding_idx if padded else -1, NO_PREFETCH, 0, 0
        if size >= settings.fetch_from:
            prefetch, fetch, near = choose_prefetch(reduce, size, values, columns, gather)
        plan = _plan(values.dtype, columns, reduce, dtype, pad_value, kind, gather, padded, few, prefetch)
    if plan is None:
        return _reduce(values, ids, weights, padding_idx, offsets, reduce, pad_value, out, dtype, unchecked)
    result, pad, kernel, divisor, reports_bad_ids, takes_1d = plan
    chunk, block = settings.chunk_rows, settings.block_rows
    if not reports_bad_ids:
        if size > TILE * chunk * columns:
            return _reduce(values, ids, weights, padding_idx, offsets, reduce, pad_value, out, dtype, unchecked)
        if unchecked:
            ids_in_range(ids, shape[0])
    table = values
    if few and segments * columns < LARGE_OUTPUT:
        made = target = arrays.small_output((segments, columns) if ndim == 2 else (segments,), result)
    else:
        made = target = arrays.output((segments, *shape[1:]), result)
    if takes_1d:
        if ndim == 2:
            table, target = values.reshape(-1), made.reshape(-1)
    elif ndim == 1:
        table, target = values[:, None], made[:, None]
    flat, factors = NO_IDS if ids is None else ids, NO_WEIGHTS if weights is None else weights
    if few:
        wrong = kernel(table, flat, factors, padding, offsets, pad, divisor, chunk, block, fetch, near, target)
    else:
        wrong = kernel(size, table, flat, factors, padding, offsets, pad, divisor, chunk, block, fetch, near, target)
    if wrong == TOO_LONG:
        return _reduce(values, ids, weights, padding_idx, offsets, reduce, pad_value, out, dtype, unchecked)
    if wrong and unchecked:
        ids_in_range(ids, shape[0])
    return made


def _reduce(values, ids, weights, padding_idx, offsets, reduce, pad_value, out, dtype, unchecked):
    """``reduce_into`` in general: into ``out``, halves, values of many dimensions, long segments."""
    read, places, padding_idx = rows_to_read(values, ids, padding_idx)
    if unchecked and (out is not None or read is not values):
        ids_in_range(ids, len(values))
        unchecked = False
    dtype, pad = result_of(values.dtype, reduce, dtype, pad_value)
    out = arrays.output((len(offsets) - 1, *values.shape[1:]), dtype, out)
    if reduce in ENDS and native(values.dtype) == np.float16 != dtype:
        halves = np.empty(out.shape, np.float16)
        reduce_rows(reduce, matrix(read), places, None, None, offsets, np.uint16(0), matrix(halves), unchecked)
        out[...] = halves
        out[offsets[1:] == offsets[:-1]] = pad
    else:
        reduce_rows(reduce, matrix(read), places, weights, padding_idx, offsets, pad, matrix(out), unchecked)
    return out
