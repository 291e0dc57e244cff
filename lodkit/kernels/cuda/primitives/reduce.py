"""Segment reductions on a GPU: vector width, threads per row, and tiles of long segments."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays import upcast
from ....arrays.cuda import BLOCK, check_as_read, checked_ids, elementwise, fill, launch, output, vector
from ....jit.reducers import REDUCERS
from ....ops.shared.reductions import pad_of, result_dtype
from ...common.integers import computed_type, needs_integers, reduce_integers
from . import device
from .offsets import Offsets, offsets_like
from .reduce_kernels import WARP, reduce_kernel

ENDS = "first", "last"
VECTOR = 16  # bytes of the widest load


def width_of(columns, *arrays):
    """Elements per load: the widest that divides the columns and to which all ``arrays`` are aligned."""
    return aligned_width(columns, tuple([a.dtype for a in arrays]), tuple([a.pointer % VECTOR for a in arrays]))


@functools.lru_cache(4096)
def aligned_width(columns, dtypes, misaligned):
    """``width_of`` arrays of these types, which start so many bytes behind a multiple of 16."""
    width = VECTOR // min(dtype.itemsize for dtype in dtypes)
    while columns % width or any(
        by % min(VECTOR, width * dtype.itemsize) for by, dtype in zip(misaligned, dtypes, strict=True)
    ):
        width //= 2
    return width


def group_of(columns, width):
    """Exponent of 2 of the threads that share a row: enough for its columns, at most a block."""
    return min(max(columns // width - 1, 0).bit_length(), BLOCK.bit_length() - 1)


def reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad, out, first=None):
    """Reduce the rows of every segment into ``out``.

    Parameters
    ----------
    reduce : str
    values : View of shape (rows, *item)
    ids : View of int32 or int64, or None
        Rows to reduce; all, in order, for None. An id outside reads as a row of zeros.
    weights : View or None
        One a row, with sum and mean.
    padding_idx : int or None
        Rows with this id read as zeros.
    offsets : Offsets
        Over ids or rows.
    pad : scalar
        Result of an empty segment.
    out : View of shape (segments, *item)
    first : View, optional
        Of an int64, initially -1: the first position of an id outside, which is looked for where this is given.
    """
    if not out.size:
        return
    if not (len(values) if ids is None else ids.size):
        fill(out, pad)
        return
    totals = weight_totals(reduce, weights, offsets, values.dtype)
    source = values, ids, weights, padding_idx
    if offsets.tiles is None or reduce in ENDS:
        launch_reduction(reduce, *source, totals, offsets.offsets, offsets.offsets, pad, out, first)
        return
    if reduce == "logmeanexp":
        _mean_exponentials_of_tiles(*source, offsets, pad, out, first)
        return
    inner = {"mean": "sum", "sqrt": "sum"}.get(reduce, reduce)
    partial, tile_offsets = reduce_tiles(inner, *source, offsets, first)
    launch_reduction(reduce, partial, None, None, None, totals, offsets.offsets, tile_offsets, pad, out)


def reduce_tiles(reduce, values, ids, weights, padding_idx, offsets, first=None):
    """Reduce the tiles of long segments, and the tiles of those while there are too many.

    Returns Views of a row a tile, and of the offsets of the segments over them.
    """
    while offsets.tiles is not None:
        partial = values.like((len(offsets.tiles) - 1, *values.shape[1:]), values.compute_dtype)
        source, tiles = (values, ids, weights, padding_idx), offsets.tiles
        launch_reduction(reduce, *source, None, tiles, tiles, 0.0, partial, first)
        values, ids, weights, padding_idx, offsets, first = partial, None, None, None, offsets.tile_offsets, None
    return values, offsets.offsets


@elementwise
def _tile_length(t, tiles, lengths):
    lengths[t] = vector.number(tiles, t + 1) - vector.number(tiles, t)


def _mean_exponentials_of_tiles(values, ids, weights, padding_idx, offsets, pad, out, first):
    """logmeanexp of long segments: of each tile, and of the tiles, weighted by their rows.

    Of logsumexp of the tiles the logarithm of all rows would be subtracted, and of the difference little be left.
    """
    tiles, dtype = offsets.tiles, values.compute_dtype
    lengths, means = values.like((len(tiles) - 1,), dtype), values.like((len(tiles) - 1, *values.shape[1:]), dtype)
    if weights is None:
        _tile_length.into(lengths, tiles)
    else:
        reduce_rows("sum", weights, None, None, None, Offsets(tiles, offsets.rows), 0.0, lengths)
    launch_reduction("logmeanexp", values, ids, weights, padding_idx, lengths, tiles, tiles, 0.0, means, first)
    reduce_rows("logmeanexp", means, None, lengths, None, offsets.tile_offsets, pad, out)


def weight_totals(reduce, weights, offsets, dtype):
    """The sum of every segment's weights, where a weighted mean divides by it; else None."""
    if weights is None or REDUCERS[reduce].divisor is None:
        return None
    totals = weights.like((len(offsets),), np.promote_types(dtype, np.float32))
    reduce_rows("sum", weights, None, None, None, offsets, 0.0, totals)
    return totals


@functools.lru_cache(4096)
def _choose_kernel(reduce, columns, dtypes, misaligned, gather, weighted, by_totals, notes):
    """Choose the kernel of a reduction; return it and log2 of the number of threads per segment."""
    shared = columns == 1 and reduce not in ENDS
    width = aligned_width(columns, dtypes, misaligned)
    bits = WARP.bit_length() - 1 if shared else group_of(columns, width)
    divisor = None
    if reduce in REDUCERS and REDUCERS[reduce].divisor is not None:
        divisor = "totals" if by_totals else "rows"
    return reduce_kernel(reduce, width, WARP if shared else 1, gather, weighted, divisor, notes), bits


def reduce_loop(reduce, values, ids, weights, padding_idx, offsets, dtype=None):
    """The loop of ``reduce_into`` for these arrays, and what was chosen for them."""
    weighted_mean = weights is not None and REDUCERS[reduce].divisor is not None
    given = ids is not None, weights is not None, weighted_mean, ids is not None
    kind = computed_type(values.dtype, dtype)
    dtypes, misaligned = (kind, kind), (values.pointer % VECTOR, 0)
    kernel, bits = _choose_kernel(reduce, values.columns, dtypes, misaligned, *given)
    tiled = offsets_like(values, offsets).tiles is not None and reduce not in ENDS
    return kernel, {"threads for a segment": 1 << bits, "tiles": "of long segments" if tiled else "none"}


def launch_reduction(reduce, values, ids, weights, padding_idx, totals, rows, offsets, pad, out, first=None):
    """Launch one reduction, by ``offsets``. A mean divides by ``totals``, or by the differences of ``rows``."""
    columns, height, segments = out.columns, values.shape[0], offsets.shape[0] - 1
    misaligned = values.pointer % VECTOR, out.pointer % VECTOR
    given = ids is not None, weights is not None, totals is not None, first is not None
    kernel, bits = _choose_kernel(reduce, columns, (values.dtype, out.dtype), misaligned, *given)
    if not height:
        # Ids outside the table read nothing, but the kernel still computes an address.
        values = values.like((1, *values.shape[1:]))
    # ``offsets`` stand for each array that is not given: the kernel does not read it.
    launch(
        kernel,
        segments << bits,
        values,
        offsets if ids is None else ids,
        offsets if weights is None else weights,
        offsets if totals is None else totals,
        rows,
        offsets,
        values.compute_dtype.type(upcast(np.asarray(pad))),
        -1 if padding_idx is None else padding_idx,
        height,
        columns,
        bits,
        segments,
        offsets if first is None else first,
        out,
    )


def reduce_into(values, ids, weights, padding_idx, offsets, reduce, pad_value, out=None, dtype=None, unchecked=False):
    """Reduce rows of ``values`` (those at ``ids``, all where it is None) by checked offsets; a View.

    ``unchecked`` ids are checked here, by the kernel that reads them where it reads all.
    """
    dtype, offsets = result_dtype(values.dtype, reduce, dtype), offsets_like(values, offsets)
    if needs_integers(values.dtype, dtype):
        out = output(values, (len(offsets), *values.shape[1:]), dtype, out)
        return reduce_integers(device, values, ids, padding_idx, offsets, reduce, pad_value, out, unchecked)
    reads_all = values.columns and reduce not in ENDS and (weights is None or REDUCERS[reduce].divisor is None)
    if unchecked and not (reads_all and out is None):
        checked_ids(ids, len(values))
        unchecked = False
    out = output(values, (len(offsets), *values.shape[1:]), dtype, out)

    def run(first=None):
        reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad_of(pad_value, dtype), out, first)

    if unchecked:
        check_as_read(ids, len(values), ids.size * values.columns * values.dtype.itemsize, run)
    else:
        run()
    return out
