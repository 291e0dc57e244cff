"""Kernels of lodkit/ops/sequence_topk.py."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...arrays import check_gradient, native
from ...arrays.sizes import size_products
from ...lod import LoDTensor, freeze
from ...lod.offsets import lengths_to_offsets
from ...ops.sequence_topk import bad_index, check_steps, prepare_grad, prepare_matrices


def matrix_rows(row_offsets, column_offsets, channels):
    """Locate the rows of matrices: in each channel, matrix i has as many rows and columns as sequence i.

    Returns
    -------
    offsets : int64 array
        Of all rows of all matrices: of the first sequence the first channel, the second, and so on.
    order : int64 array
        The numbers of these rows in the order of the result: per row of the sequences, its channels.
    """
    rows, columns = np.diff(row_offsets), np.diff(column_offsets)
    offsets = lengths_to_offsets(np.repeat(columns, size_products(rows, channels, "channel_num * rows")))
    sequence = np.repeat(np.arange(len(rows)), rows)
    first = np.arange(len(sequence)) + (channels - 1) * row_offsets[sequence]
    order = first[:, None] + np.arange(channels) * rows[sequence][:, None]
    return offsets, order.reshape(-1)


@ops.sequence_topk.kernel("cpu", "cuda")
def sequence_topk(on, x: LoDTensor, /, *, k):
    values = x.values
    check_steps(values, k)
    ends, rows, indices = on.sequence_topk.top_rows(values, x._row_offsets(), k)
    best = on.output(rows.shape, native(values.dtype), None, values)
    on.gather(values, rows, None, best)
    levels = *x._lod[:-1], freeze(ends)
    return LoDTensor._wrap(best, levels), LoDTensor._wrap(indices, levels)


@ops.sequence_topk_grad.kernel("cpu", "cuda")
def sequence_topk_grad(on, x: LoDTensor, indices: LoDTensor, grad, /):
    numbers = prepare_grad(on, x, indices)
    at, rows = on.sequence_topk.rows_of(numbers, indices._row_offsets(), x._row_offsets())
    if at >= 0:
        raise bad_index(x, indices, on.read(numbers), at)
    check_gradient(grad, numbers.shape)
    return on.sequence_topk.place_gradient(rows, grad, x.values)


@ops.sequence_topk_avg_pooling.kernel("cpu", "cuda")
def sequence_topk_avg_pooling(on, x: LoDTensor, row: LoDTensor, column: LoDTensor, /, *, topks, channel_num, out=None):
    topks, shape = prepare_matrices(x, row, column, topks, channel_num)
    offsets, order = matrix_rows(row._row_offsets(), column._row_offsets(), channel_num)
    out = on.output(shape, native(x.values.dtype), out, x.values)
    on.sequence_topk.average(x.values, offsets, order, topks, out)
    return row.with_values(out)


@ops.sequence_topk_avg_pooling_grad.kernel("cpu", "cuda")
def sequence_topk_avg_pooling_grad(on, x: LoDTensor, row: LoDTensor, column: LoDTensor, grad, /, *, topks, channel_num):
    topks, shape = prepare_matrices(x, row, column, topks, channel_num)
    check_gradient(grad, shape)
    offsets, order = matrix_rows(row._row_offsets(), column._row_offsets(), channel_num)
    return on.sequence_topk.average_grad(x.values, grad, offsets, order, topks)
