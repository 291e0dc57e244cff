"""Reduce the rows of every segment to one row: Caffe2's product of representation, reduction and fused gather."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import check_values
from ..errors import LoDError, SegmentIdError
from ..lod.levels import check_vector
from ..lod.selected_rows import SelectedRows
from ..registry import Dense, op
from ..registry.desc import VarType
from .conversions import check_offsets, lengths_to_offsets, segment_ids_to_offsets
from .shared.reductions import (
    Reduction,
    check_weighted,
    check_weights,
    reduce_segments,
    reduce_segments_grad,
    result_dtype,
    weights_grad,
)
from .shared.tables import check_ids, table_grad

Segmentation = Literal["lengths", "offsets", "ids", "unsorted_ids"]


def to_offsets(segments, by, rows, num_segments=None):
    """The definition of how lengths, offsets and sorted ids become offsets over ``rows`` rows."""
    if by == "ids":
        offsets = segment_ids_to_offsets.definition(segments, num_segments=num_segments)
    else:
        offsets = lengths_to_offsets.definition(segments) if by == "lengths" else check_offsets(segments)
        check_num_segments(by, num_segments, len(offsets) - 1)
    check_rows(by, offsets, rows)
    return offsets


def grouped(segments, by, rows, num_segments=None):
    """The same, and the order that brings the rows of a segment together: None but with unsorted ids."""
    if by != "unsorted_ids":
        return to_offsets(segments, by, rows, num_segments), None
    ids = check_unsorted_ids(segments, num_segments)
    order = np.argsort(ids, kind="stable")
    return to_offsets(ids[order], "ids", rows, num_segments), order


def check_unsorted_ids(ids, num_segments=None):
    ids = check_vector(ids, "segment_ids")
    if num_segments is not None and num_segments < 0:
        raise SegmentIdError(f"num_segments = {num_segments} is negative")
    bad = (ids < 0) | (ids >= (np.iinfo(np.int64).max if num_segments is None else num_segments))
    if bad.any():
        i = int(np.argmax(bad))
        if ids[i] < 0:
            raise SegmentIdError(f"segment_ids[{i}] = {ids[i]} is negative; ids count from 0")
        raise SegmentIdError(
            f"segment_ids[{i}] = {ids[i]} is outside [0, {num_segments}) (num_segments={num_segments})"
        )
    return ids


def check_num_segments(by, given, found):
    if given is not None and given != found:
        raise LoDError(f"num_segments = {given}, but there are {found} segments by {by}")


def check_rows(by, offsets, rows):
    if offsets[-1] != rows:
        what = {"lengths": "lengths add up to", "offsets": "the last offset is"}.get(by, "segment_ids number")
        raise LoDError(f"{what} {offsets[-1]}, but the data has {rows} rows; every row belongs to one segment")


def _reduced_rows(data, segments, weights, indices, by, num_segments):
    """What is reduced: rows, offsets over them, weights, which rows of data they are, and in what order they come."""
    chosen = None if indices is None else check_ids(check_vector(indices, "indices"), len(data), "indices")
    rows = len(data) if chosen is None else len(chosen)
    offsets, order = grouped(segments, by, rows, num_segments)
    if weights is not None:
        check_weights(weights, rows, data.dtype)
    if order is not None:
        chosen = order if chosen is None else chosen[order]
        weights = None if weights is None else weights[order]
    return data if chosen is None else data[chosen], offsets, weights, chosen, order


@op
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
    dtype: Literal["float32"] | None = None,
) -> Dense:
    """Reduce the rows of every segment to one row: any representation, any reduction, fused with a gather or not.

    Caffe2's SortedSegment*, SortedSegmentRange*, UnsortedSegment* and Lengths* reductions, their weighted forms, and
    their Sparse* forms, in one operator.

    Parameters
    ----------
    data : array of shape (rows, *item)
    segments : array of int32 or int64
        Lengths (one a segment), offsets (one more than segments), or segment ids (one a row), sorted or not.
    weights : array of shape (rows,), optional
        With sum and mean; the mean divides by the sum of the weights.
    indices : array of int32 or int64, optional
        The rows that are reduced are ``data[indices]``, which are not written anywhere; segments and weights are of
        these.
    by : {"lengths", "offsets", "ids", "unsorted_ids"}
        What ``segments`` are.
    num_segments : int, optional
        With ids: how many segments there are, the largest id + 1 by default, for which unsorted ids are looked at once
        more.
    pad_value : float
        The result for an empty segment.
    is_sparse : bool
        With indices: whether the gradient of the data is SelectedRows.
    dtype : "float32", optional
        The type of the result for float16 data, whose own type it has by default.

    Raises
    ------
    LoDError, SegmentIdError
        Segments that are malformed, or not of as many rows as there are; the message gives position and value.
    RowIndexError
        One of the indices is outside the data.

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
    check_weighted(reduce, weights)
    rows, offsets, weights, _, _ = _reduced_rows(data, segments, weights, indices, by, num_segments)
    return reduce_segments(rows, offsets, weights, reduce, pad_value, dtype)


@segment_reduce.infer_rule
def _(data, segments, weights=None, indices=None, *, by="lengths", reduce="sum", num_segments=None, dtype=None, **_):
    rows = {"lengths": segments.dims[0], "offsets": segments.dims[0] - 1}.get(by, -1)
    rows = num_segments if num_segments is not None else max(rows, -1)
    return data.but(dims=(rows, *data.dims[1:]), dtype=result_dtype(data.dtype, reduce, dtype), lod_level=0)


@segment_reduce.gradient
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


@op
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

    The first of equal extremes gets the gradient; rows of result -inf (logsumexp, logmeanexp) get 0.

    >>> segment_reduce_grad(np.zeros((3, 1)), [1, 2], np.zeros((2, 1)), np.array([[1.], [4.]]), reduce="mean")
    array([[1.],
           [2.],
           [2.]])
    """
    check_values(data.dtype, "the gradient", floating=True)
    check_weighted(reduce, weights)
    rows, offsets, weights, chosen, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    result = reduce_segments_grad(rows, offsets, weights, out, grad, reduce)
    if indices is not None:
        return table_grad(data, chosen, result, None, is_sparse)
    return result if order is None else result[np.argsort(order)]


@segment_reduce_grad.infer_rule
def _(data, segments, out, grad, weights=None, indices=None, *, is_sparse=True, **_):
    return data.but(type=VarType.SELECTED_ROWS) if indices is not None and is_sparse else data


@op
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
    check_weighted(reduce, weights)
    rows, offsets, weights, _, order = _reduced_rows(data, segments, weights, indices, by, num_segments)
    result = weights_grad(rows, offsets, weights, out, grad, reduce)
    return result if order is None else result[np.argsort(order)]


@segment_reduce_weights_grad.infer_rule
def _(data, segments, out, grad, weights, indices=None, **_):
    return weights


@segment_reduce.example
def _(dtype):
    inputs = [(np.ones((3, d), dtype), np.array([1, 2])) for d in (1, 4, 16, 64)]
    weighted = [((*i, np.ones(3, dtype)), {}) for i in inputs]
    return [(i, {"reduce": reduce}) for i in inputs for reduce in ("sum", "max")] + weighted
