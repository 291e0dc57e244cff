"""Segment reductions on a GPU: vector width, threads per row, and tiles of long segments."""

from __future__ import annotations

import functools

import numpy as np

from ....arrays.cuda import BLOCK, fill, launch, output
from ....jit.reducers import REDUCERS
from ....ops.shared.reductions import pad_of, result_dtype
from .offsets import offsets_like
from .reduce_kernels import WARP, reduce_kernel

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


def reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad, out):
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
    """
    if not out.size:
        return
    if not (len(values) if ids is None else ids.size):
        fill(out, pad)
        return
    totals = weight_totals(reduce, weights, offsets, values.dtype)
    source = values, ids, weights, padding_idx
    if offsets.tiles is None or reduce in ("first", "last"):
        launch_reduction(reduce, *source, totals, offsets.offsets, offsets.offsets, pad, out)
        return
    inner = {"mean": "sum", "sqrt": "sum", "logmeanexp": "logsumexp"}.get(reduce, reduce)
    partial, tile_offsets = reduce_tiles(inner, *source, offsets)
    launch_reduction(reduce, partial, None, None, None, totals, offsets.offsets, tile_offsets, pad, out)


def reduce_tiles(reduce, values, ids, weights, padding_idx, offsets):
    """Reduce the tiles of long segments, and the tiles of those while there are too many.

    Returns Views of a row a tile, and of the offsets of the segments over them.
    """
    while offsets.tiles is not None:
        partial = values.like((len(offsets.tiles) - 1, *values.shape[1:]), values.compute_dtype)
        launch_reduction(reduce, values, ids, weights, padding_idx, None, offsets.tiles, offsets.tiles, 0.0, partial)
        values, ids, weights, padding_idx, offsets = partial, None, None, None, offsets.tile_offsets
    return values, offsets.offsets


def weight_totals(reduce, weights, offsets, dtype):
    """The sum of every segment's weights, where a weighted mean divides by it; else None."""
    if weights is None or REDUCERS[reduce].divisor is None:
        return None
    totals = weights.like((len(offsets),), np.promote_types(dtype, np.float32))
    reduce_rows("sum", weights, None, None, None, offsets, 0.0, totals)
    return totals


@functools.lru_cache(4096)
def _chosen(reduce, columns, dtypes, misaligned, gather, weighted, by_totals):
    """The kernel of a reduction, and the exponent of 2 of the threads that take a segment."""
    shared = columns == 1 and reduce not in ("first", "last")
    width = aligned_width(columns, dtypes, misaligned)
    bits = WARP.bit_length() - 1 if shared else group_of(columns, width)
    divisor = None
    if reduce in REDUCERS and REDUCERS[reduce].divisor is not None:
        divisor = "totals" if by_totals else "rows"
    return reduce_kernel(reduce, width, WARP if shared else 1, gather, weighted, divisor), bits


def launch_reduction(reduce, values, ids, weights, padding_idx, totals, rows, offsets, pad, out):
    """Launch one reduction, by ``offsets``. A mean divides by ``totals``, or by the differences of ``rows``."""
    columns, height, segments = out.columns, len(values), len(offsets) - 1
    misaligned = values.pointer % VECTOR, out.pointer % VECTOR
    given = ids is not None, weights is not None, totals is not None
    kernel, bits = _chosen(reduce, columns, (values.dtype, out.dtype), misaligned, *given)
    if not height:
        values = values.like((1, *values.shape[1:]))  # bad ids alone, which read nothing, still name an address
    arrays = [offsets if x is None else x for x in (ids, weights, totals)]  # any, where one is not there
    padding = -1 if padding_idx is None else padding_idx
    numbers = values.compute_dtype.type(pad), padding, height, columns, bits, segments
    launch(kernel, segments << bits, values, *arrays, rows, offsets, *numbers, out)


def reduce_into(values, ids, weights, padding_idx, offsets, reduce, pad_value, out=None, dtype=None, unchecked=False):
    """Reduce rows of ``values`` (those at ``ids``, all where it is None) by checked offsets; a View.

    ``unchecked`` is for the CPU: here ids were checked before, and what is outside reads nothing.
    """
    dtype, offsets = result_dtype(values.dtype, reduce, dtype), offsets_like(values, offsets)
    out = output(values, (len(offsets), *values.shape[1:]), dtype, out)
    reduce_rows(reduce, values, ids, weights, padding_idx, offsets, pad_of(pad_value, dtype), out)
    return out
