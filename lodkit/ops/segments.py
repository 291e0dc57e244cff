"""Reduce the rows of every segment to one row: Caffe2's product of representation, reduction and fused gather."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .. import arrays
from ..arrays import FLOATING, ORDERED, check_values, native
from ..lod import SelectedRows
from ..registry import Dense, VarType, keeps_bfloat16, op, takes_bfloat16
from .conversions import check_rows as check_rows
from .conversions import to_offsets as to_offsets
from .shared import plain
from .shared.reductions import (
    Reduction,
    ResultType,
    check_weights,
    reduce_segments,
    reduce_segments_grad,
    result_dtype,
    weights_grad,
)
from .shared.tables import table_grad

DOCS_PAGE = "pool"
SEARCH_WORDS = {
    "segment_reduce": (
        "segment_sum, segment_mean, segment_max, unsorted_segment_sum, scatter_sum, scatter_add, scatter_mean, "
        "torch_scatter, segment_csr, segment_coo, reduceat, groupby, bincount with weights, jax.ops.segment_sum, "
        "index_add"
    )
}

Segmentation = Literal["lengths", "offsets", "ids", "unsorted_ids"]


def prepare_segments(on, data, segments, weights, indices, by, num_segments, reduce):
    """Check the inputs of a segment reduction, or of its gradients, on any device.

    Returns
    -------
    ids, offsets, weights, order
        The rows of data that are reduced (None: all, in order), offsets over them, their weights, and the order that
        brings the rows of unsorted segments together, else None.
    """
    ids, rows = None, len(arrays.check_rows(data, "data"))
    if indices is not None:
        ids = on.checked_ids(on.check_vector(indices, "indices"), rows, "indices")
        rows = len(ids)
    offsets, order = on.conversions.group_segments(segments, by, rows, num_segments)
    if weights is not None:
        check_weights(weights, rows, data.dtype, reduce)
    if order is not None:
        ids = order if ids is None else on.take(ids, order)
        weights = None if weights is None else on.take(weights, order)
    return ids, offsets, weights, order


def restore_order(on, rows, order):
    """Rows in the order of the input, from the ``order`` of ``prepare_segments``."""
    return rows if order is None else on.put_rows(order, rows, on.output(rows.shape, native(rows.dtype), None, rows))


@op(types=ORDERED)
def segment_reduce(
    data: Dense,
    segments: Dense,
    weights: Dense | None = None,
    indices: Dense | None = None,
    /,
    *,
    by: Segmentation = "lengths",
    reduce: Reduction = "sum",
    num_segments: int | None = None,
    pad_value: float = 0.0,
    is_sparse: bool = True,
    dtype: ResultType | None = None,
) -> Dense:
    """Reduce the rows of every segment to one row, for segments given by lengths, offsets or ids.

    The operator corresponds to Caffe2's SortedSegment*, SortedSegmentRange*, UnsortedSegment* and Lengths* reductions,
    with the weighted and Sparse* forms of these reductions.

    Parameters
    ----------
    data : array of shape (rows, *item)
    segments : array of int32 or int64
        Lengths (one per segment), offsets (one more than segments), or segment ids (one per row), sorted or not.
    weights : array of shape (rows,), optional
        For sum and mean; the mean divides by the sum of the weights. If that sum is 0, the result is ``pad_value``, as
        for an empty segment, and has no gradient.
    indices : array of int32 or int64, optional
        If indices are passed, the operator reduces ``data[indices]``, without storing this array. Segments and weights
        then refer to the rows of ``data[indices]``.
    by : {"lengths", "offsets", "ids", "unsorted_ids"}
        Representation of ``segments``.
    num_segments : int, optional
        The number of segments if segments are ids; the largest id + 1 by default. For unsorted ids the default takes a
        pass over the ids.
    pad_value : float
        The result for an empty segment.
    is_sparse : bool
        If indices are passed: True if the gradient of the data is SelectedRows, False for a dense array.
    dtype : {"float32", "float64"}, optional
        The type of the result. By default the result has the type of the data, but sum and prod of integers and bool
        give int64, or uint64 for unsigned data. "float32" is for data of float16 or bfloat16. "float64" is for mean,
        sqrt, logsumexp and logmeanexp of integers; without "float64" these reductions raise.

    Raises
    ------
    LoDError, SegmentIdError
        Segments are malformed, or do not cover the rows of the data. The message gives the position and the value.
    RowIndexError
        One of the indices is outside the data.
    DTypeError
        The reduction is not defined for the type of the data, for instance the sum of times. Mean, sqrt, logsumexp and
        logmeanexp of integers need ``dtype="float64"``.
    ValueError
        Weights are passed with a reduction other than sum and mean.

    Examples
    --------
    >>> data = np.array([[1, 4], [3, 2], [8, 1], [9, 4], [5, 8]])
    >>> segment_reduce(data, [0, 0, 0, 1, 1], by="ids")
    array([[12,  7],
           [14, 12]])
    >>> segment_reduce(data, [2, 0, 2], None, [4, 1, 4], by="unsorted_ids", reduce="max")
    array([[3, 2],
           [0, 0],
           [5, 8]])
    """
    ids, offsets, weights, _ = prepare_segments(plain, data, segments, weights, indices, by, num_segments, reduce)
    rows = data if ids is None else data[ids]
    return reduce_segments(rows, offsets, weights, reduce, pad_value, dtype)


@segment_reduce.infer_rule
def _(data, segments, weights=None, indices=None, *, by="lengths", reduce="sum", num_segments=None, dtype=None, **_):
    rows = {"lengths": segments.dims[0], "offsets": segments.dims[0] - 1}.get(by, -1)
    rows = num_segments if num_segments is not None else max(rows, -1)
    return data.but(dims=(rows, *data.dims[1:]), dtype=result_dtype(data.dtype, reduce, dtype), lod_level=0)


@segment_reduce.gradient(reads_outputs=True)
def _(call, grad):
    data, segments, weights, indices = (*call.inputs, None, None)[:4]
    attrs = {k: call.attrs[k] for k in ("by", "reduce", "num_segments")}
    inputs = data, segments, call.outputs[0], grad, weights, indices
    by_data = by_weights = None
    if call.wanted[0]:
        by_data = segment_reduce_grad(*inputs, is_sparse=call.attrs["is_sparse"], **attrs)
    if weights is not None and call.wanted[2]:
        by_weights = segment_reduce_weights_grad(*inputs, **attrs)
    return by_data, None, by_weights


@op(types=FLOATING)
def segment_reduce_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense | None = None,
    indices: Dense | None = None,
    /,
    *,
    by: Segmentation = "lengths",
    reduce: Reduction = "sum",
    num_segments: int | None = None,
    is_sparse: bool = True,
) -> Dense | SelectedRows:
    """Return the gradient of ``segment_reduce`` by its data: with indices SelectedRows, or dense by choice.

    The first of equal extremes gets the gradient; rows of result -inf (logsumexp, logmeanexp) get 0. SelectedRows list
    their rows in the order of the indices.

    >>> segment_reduce_grad(np.zeros((3, 1)), [1, 2], np.zeros((2, 1)), np.array([[1.], [4.]]), reduce="mean")
    array([[1.],
           [2.],
           [2.]])
    """
    check_values(data.dtype, "the gradient", floating=True, bfloat16=True)
    ids, offsets, weights, order = prepare_segments(plain, data, segments, weights, indices, by, num_segments, reduce)
    rows = data if ids is None else data[ids]
    result = restore_order(plain, reduce_segments_grad(rows, offsets, weights, out, grad, reduce), order)
    return result if indices is None else table_grad(data, restore_order(plain, ids, order), result, None, is_sparse)


@segment_reduce_grad.infer_rule
def _(data, segments, out, grad, weights=None, indices=None, *, is_sparse=True, **_):
    return data.but(type=VarType.SELECTED_ROWS) if indices is not None and is_sparse else data


@op(like="weights", types=FLOATING)
def segment_reduce_weights_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense,
    indices: Dense | None = None,
    /,
    *,
    by: Segmentation = "lengths",
    reduce: Reduction = "sum",
    num_segments: int | None = None,
) -> Dense:
    """Return the gradient of ``segment_reduce`` by its weights.

    >>> x, g = np.array([[1.], [2.], [3.]]), np.array([[1.], [10.]])
    >>> segment_reduce_weights_grad(x, [1, 2], np.zeros((2, 1)), g, np.ones(3))
    array([ 1., 20., 30.])
    """
    ids, offsets, weights, order = prepare_segments(plain, data, segments, weights, indices, by, num_segments, reduce)
    rows = data if ids is None else data[ids]
    result = weights_grad(rows, offsets, weights, out, grad, reduce)
    return restore_order(plain, result, order)


@segment_reduce.example
def _(dtype):
    inputs = [(np.ones((3, d), dtype), np.array([1, 2])) for d in (1, 4, 16, 64)]
    weighted = [((*i, np.ones(3, dtype)), {}) for i in inputs]
    return [(i, {"reduce": reduce}) for i in inputs for reduce in ("sum", "max")] + weighted


takes_bfloat16(segment_reduce, segment_reduce_grad, segment_reduce_weights_grad)
keeps_bfloat16(segment_reduce_grad)
