"""Extremes of segments, with their positions."""

from __future__ import annotations

import numpy as np

from ....arrays import matrix, upcast
from ....jit import settings
from ...common.integers import to_comparable
from . import device
from .gather import rows_to_read
from .reduce import NO_IDS, reduce_into
from .select_kernels import argreduce_kernel


def reduce_with_index(reduce, values, offsets, pad_value, out=None):
    """The maximum or minimum of every segment, as ``reduce_into`` gives it, and its first row: two arrays.

    Parameters
    ----------
    reduce : {"max", "min"}
    values : array of shape (rows, *item)
    offsets : int64 array
        Checked ones, over rows.
    pad_value : number
        Result of an empty segment, whose position is -1.
    out : array of shape (segments, *item), optional
    """
    out = reduce_into(values, None, None, None, offsets, reduce, pad_value, out)
    return out, argreduce_rows(reduce, values, None, None, offsets, out.shape)


def argreduce_rows(reduce, values, ids, padding_idx, offsets, shape):
    """Position (in ids, or in the rows) of the first extreme of every segment and column; -1 for an empty one."""
    values, ids, padding_idx = rows_to_read(values, ids, padding_idx)
    values = matrix(to_comparable(device, upcast(values), reduce))
    index = np.empty((len(offsets) - 1, values.shape[1]), np.int64)
    padding = -1 if padding_idx is None else padding_idx
    ids = NO_IDS if ids is None else ids
    if index.size:
        argreduce_kernel(reduce)(values.size, values, ids, padding, offsets, settings.chunk_rows, index)
    return index.reshape(shape)
