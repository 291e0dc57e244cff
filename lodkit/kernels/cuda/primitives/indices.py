"""Extremes of segments with their positions, in one pass over the rows."""

from __future__ import annotations

import numpy as np

from ....arrays import upcast
from ....arrays.cuda import fill, launch, output
from ....ops.shared.reductions import pad_of, result_dtype
from ...common.integers import needs_integers, to_comparable
from . import device
from .index_kernels import index_kernel
from .offsets import offsets_like
from .reduce import group_of, reduce_into, width_of
from .reduce_kernels import WARP


def reduce_with_index(reduce, values, offsets, pad_value, out=None):
    """The maximum or minimum of every segment, as ``reduce_into`` gives it, and its first row: two Views."""
    dtype, offsets = result_dtype(values.dtype, reduce), offsets_like(values, offsets)
    if needs_integers(values.dtype):
        out = reduce_into(values, None, None, None, offsets, reduce, pad_value, out)
        return out, argreduce_rows(reduce, to_comparable(device, values, reduce), None, None, offsets, out.shape)
    out = output(values, (len(offsets), *values.shape[1:]), dtype, out)
    return out, _extremes(reduce, values, None, None, offsets, pad_of(pad_value, dtype), out)


def argreduce_rows(reduce, values, ids, padding_idx, offsets, shape):
    """Position (in ids, or in the rows) of the first extreme of every segment and column; -1 for an empty one."""
    offsets = offsets_like(values, offsets)
    return _extremes(reduce, values, ids, padding_idx, offsets, 0, values.like(shape, values.compute_dtype))


def _extremes(reduce, values, ids, padding_idx, offsets, pad, out):
    """Fill ``out`` with the extremes, ``pad`` those of empty segments; returns their positions."""
    places = None
    while offsets.tiles is not None:
        shape = len(offsets.tiles) - 1, *values.shape[1:]
        partial, found = values.like(shape, values.compute_dtype), values.like(shape, np.int64)
        _launch(reduce, values, ids, padding_idx, places, offsets.tiles, 0, partial, found)
        values, ids, padding_idx, places, offsets = partial, None, None, found, offsets.tile_offsets
    index = out.like(out.shape, np.int64)
    if values.size or ids is not None:
        _launch(reduce, values, ids, padding_idx, places, offsets.offsets, pad, out, index)
    else:
        fill(out, pad), fill(index, -1)
    return index


def _launch(reduce, values, ids, padding_idx, places, offsets, pad, out, index):
    columns, height, segments = out.columns, len(values), len(offsets) - 1
    if not height:
        # Ids outside the table read nothing, but the kernel still computes an address.
        values = values.like((1, *values.shape[1:]))
    shared, width = columns == 1, width_of(columns, values)
    bits = WARP.bit_length() - 1 if shared else group_of(columns, width)
    kind, stride = values.compute_dtype, WARP if shared else 1
    kernel = index_kernel(reduce == "max", width, stride, ids is not None, places is not None, kind)
    ids, places = (offsets if x is None else x for x in (ids, places))
    padding, pad = -1 if padding_idx is None else padding_idx, kind.type(upcast(np.asarray(pad)))
    numbers = pad, padding, height, columns, bits, segments
    launch(kernel, segments << bits, values, ids, places, offsets, *numbers, out, index)
