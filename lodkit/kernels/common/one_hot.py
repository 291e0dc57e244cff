"""Kernels of lodkit/ops/one_hot.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...lod import LoDTensor, freeze
from ...ops.one_hot import check_two_axes, prepare_segments
from ...ops.sequence_pool import with_outer_levels
from ...ops.shared.columns import checked_columns


@ops.one_hot.kernel("cpu", "cuda")
def one_hot(on, ids, /, *, size, out=None):
    ids, size = checked_columns(on, ids, size, "ids", "size")
    out = on.output((*ids.shape, size), np.float32, out, ids)
    on.one_hot.mark(None, ids.reshape(ids.size), out.reshape(ids.size, size))
    return out


@ops.segment_one_hot.kernel("cpu", "cuda")
def segment_one_hot(on, ids: LoDTensor, /, *, size, out=None):
    bags, flat, size = prepare_segments(on, ids, size)
    offsets = bags._row_offsets()
    out = on.output((len(offsets) - 1, size), np.float32, out, flat)
    on.one_hot.mark(offsets, flat, out)
    return with_outer_levels(bags, -1, out)


@ops.dense_to_id_lists.kernel("cpu", "cuda")
def dense_to_id_lists(on, dense, /):
    check_two_axes(dense)
    offsets, ids = on.one_hot.list_columns(dense)
    return LoDTensor._wrap(ids, (freeze(offsets),))
