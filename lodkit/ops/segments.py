"""Reduce the rows of every segment to one row: Caffe2's product of representation and reduction."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import check_gradient, check_values
from ..errors import DTypeError, LoDError
from ..registry import Dense, op
from .conversions import check_offsets, lengths_to_offsets, segment_ids_to_offsets

Reduction = Literal["sum", "mean", "sqrt", "max", "min", "logsumexp", "first", "last"]
Segmentation = Literal["lengths", "offsets", "ids"]


def _logsumexp(rows):
    top = rows.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(rows - shift).sum(axis=0)) + shift


def _shares(rows):
    """The gradient of logsumexp: softmax, with 0 under -inf and equal shares for several +inf."""
    top = rows.max(axis=0)
    shares = np.exp(rows - np.where(np.isfinite(top), top, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = shares / shares.sum(axis=0)
    ends = np.isposinf(rows) / np.maximum(np.isposinf(rows).sum(axis=0), 1)
    return np.where(np.isposinf(top), ends, np.where(np.isneginf(top), 0, shares))


REDUCE = {
    "sum": lambda rows: rows.sum(axis=0),
    "mean": lambda rows: rows.mean(axis=0),
    "sqrt": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "max": lambda rows: rows.max(axis=0),
    "min": lambda rows: rows.min(axis=0),
    "logsumexp": _logsumexp,
    "first": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}
ARG = {"max": np.argmax, "min": np.argmin}


def result_dtype(dtype, reduce, asked=None):
    """The type of the values, but int64 for the sum of int32; means of integers have no meaning here."""
    dtype = check_values(dtype, reduce)
    if asked is not None:
        if dtype not in (np.float16, np.float32):
            raise DTypeError(f"dtype={asked!r} is for float16 data, not {dtype}; convert the result with .astype(...)")
        return np.dtype(asked)
    if dtype.kind == "i" and reduce in ("mean", "sqrt", "logsumexp"):
        raise DTypeError(f"{reduce} of {dtype} values is no integer; convert with .astype(np.float32)")
    return np.dtype(np.int64) if dtype.kind == "i" and reduce == "sum" else dtype


def pad_of(pad_value, dtype):
    """``pad_value`` as a value of ``dtype``."""
    with np.errstate(over="ignore", invalid="ignore"):
        pad = np.asarray(pad_value + 0.0, np.float64).astype(dtype)[()]  # -0.0 is 0.0
    lost = pad != pad_value if dtype.kind == "i" else np.isinf(pad) and not np.isinf(pad_value)
    if lost:
        raise ValueError(f"pad_value {pad_value} is no value of {dtype}; pass one that is, or convert the values")
    return pad


def check_weights(weights, rows, dtype):
    """One weight a row, of the type of the values."""
    if weights.shape != (rows,):
        raise LoDError(f"weights have shape {weights.shape}, but there are {rows} rows; pass one weight a row")
    if weights.dtype.kind != "f" or dtype.kind != "f":
        raise DTypeError(f"weights of type {weights.dtype} over values of type {dtype}; both must be floating")
    return weights


def reduce_segments(values, offsets, weights, reduce, pad_value, dtype=None):
    """The definition that every segment reduction shares: one NumPy call a segment, in double precision."""
    dtype = result_dtype(values.dtype, reduce, dtype)
    out = np.full((len(offsets) - 1, *values.shape[1:]), pad_of(pad_value, dtype), dtype)
    wide = values.astype(np.int64 if dtype.kind == "i" else np.float64)
    if weights is not None:
        check_weights(weights, len(values), dtype)
        scale = weights.astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if a == b:
            continue
        if weights is None:
            out[s] = REDUCE[reduce](wide[a:b])
        elif reduce == "sum":
            out[s] = (wide[a:b] * scale[a:b]).sum(axis=0)
        elif scale[a:b].sum() != 0:
            out[s] = (wide[a:b] * scale[a:b]).sum(axis=0) / scale[a:b].sum()
    return out


def argreduce_segments(values, offsets, reduce):
    """Row of the first largest (smallest) value of each segment and column; -1 for an empty segment."""
    index = np.full((len(offsets) - 1, *values.shape[1:]), -1, np.int64)
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if a < b:
            index[s] = a + ARG[reduce](values[a:b], axis=0)
    return index


def check_weighted(reduce, weights):
    if weights is not None and reduce not in ("sum", "mean"):
        raise ValueError(f"weights have a meaning with sum and mean, not with {reduce}")


def check_flow(values, offsets, out, grad):
    """What flows into the gradient of a reduction has the shape of its result, which ``out`` is where it is needed."""
    shape = (len(offsets) - 1, *values.shape[1:])
    check_gradient(grad, shape)
    if out is not None:
        check_gradient(out, shape, "out")


def reduce_segments_grad(values, offsets, weights, out, grad, reduce):
    """The definition of the gradient by the values."""
    check_flow(values, offsets, out, grad)
    if weights is not None:
        check_weighted(reduce, weights)
        check_weights(weights, len(values), values.dtype)
    result = np.zeros(values.shape, np.float64)
    index = argreduce_segments(values, offsets, reduce) if reduce in ARG else None
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if a == b:
            continue
        g = grad[s].astype(np.float64)
        w = 1.0 if weights is None else weights[a:b].astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
        if reduce == "sum":
            result[a:b] = g * w
        elif reduce == "mean":
            total = b - a if weights is None else w.sum()
            result[a:b] = g * w / total if total != 0 else 0
        elif reduce == "sqrt":
            result[a:b] = g / np.sqrt(b - a)
        elif reduce in ARG:
            np.put_along_axis(result, index[s][None], g[None], axis=0)
        elif reduce == "logsumexp":
            result[a:b] = g * _shares(values[a:b].astype(np.float64))
        else:
            result[a if reduce == "first" else b - 1] = g
    return result.astype(values.dtype)


def weights_grad(values, offsets, weights, out, grad, reduce):
    """The definition of the gradient by the weights: the row's share in the result, times what flows in."""
    check_flow(values, offsets, out, grad)
    result = np.zeros(len(values), np.float64)
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        total = weights[a:b].astype(np.float64).sum() if reduce == "mean" else 1.0
        if a < b and total != 0:
            base = out[s].astype(np.float64) if reduce == "mean" else 0.0
            rows = (values[a:b].astype(np.float64) - base) * grad[s] / total
            result[a:b] = rows.reshape(b - a, -1).sum(axis=1)
    return result.astype(weights.dtype)


def to_offsets(segments, by, rows, num_segments=None):
    """The definition of how lengths, offsets and sorted ids become offsets over ``rows`` rows."""
    if by == "ids":
        offsets = segment_ids_to_offsets.definition(segments, num_segments=num_segments)
    else:
        offsets = lengths_to_offsets.definition(segments) if by == "lengths" else check_offsets(segments)
        check_num_segments(by, num_segments, len(offsets) - 1)
    check_rows(by, offsets, rows)
    return offsets


def check_num_segments(by, given, found):
    if given is not None and given != found:
        raise LoDError(f"num_segments = {given}, but there are {found} segments by {by}")


def check_rows(by, offsets, rows):
    if offsets[-1] != rows:
        what = {"lengths": "lengths add up to", "offsets": "the last offset is", "ids": "segment_ids number"}[by]
        raise LoDError(f"{what} {offsets[-1]}, but the data has {rows} rows; every row belongs to one segment")


@op
def segment_reduce(
    data: Dense,
    segments: Dense,
    weights: Dense | None = None,
    /,
    *,
    by: Segmentation = "lengths",
    reduce: Reduction = "sum",
    num_segments: int | None = None,
    pad_value: float = 0.0,
    dtype: Literal["float32"] | None = None,
) -> Dense:
    """Reduce the rows of every segment to one row.

    Caffe2's SortedSegment*, Lengths* and their weighted forms in one operator.

    Parameters
    ----------
    data : array of shape (rows, *item)
    segments : array of int
        Lengths (one a segment), offsets (one more than segments) or sorted segment ids (one a row).
    weights : array of shape (rows,), optional
        With sum and mean; the mean divides by the sum of the weights.
    by : {"lengths", "offsets", "ids"}
        What ``segments`` are.
    num_segments : int, optional
        With ids: how many segments there are, the last id + 1 by default.
    pad_value : float
        The result for an empty segment.
    dtype : "float32", optional
        The type of the result for float16 data, whose own type it has by default.

    >>> data = np.array([[1, 4], [3, 2], [8, 1], [9, 4], [5, 8]])
    >>> segment_reduce(data, [0, 0, 0, 1, 1], by="ids")
    array([[12,  7],
           [14, 12]])
    """
    check_weighted(reduce, weights)
    offsets = to_offsets(segments, by, len(data), num_segments)
    return reduce_segments(data, offsets, weights, reduce, pad_value, dtype)


@segment_reduce.infer_rule
def _(data, segments, weights=None, *, by="lengths", reduce="sum", num_segments=None, pad_value=0.0, dtype=None):
    rows = {"lengths": segments.dims[0], "offsets": segments.dims[0] - 1, "ids": -1}[by]
    rows = num_segments if num_segments is not None else max(rows, -1)
    return data.but(dims=(rows, *data.dims[1:]), dtype=result_dtype(data.dtype, reduce, dtype), lod_level=0)


@segment_reduce.gradient
def _(call, grad):
    data, segments, weights = (*call.inputs, None)[:3]
    attrs = {k: call.attrs[k] for k in ("by", "reduce", "num_segments")}
    out = call.outputs[0]
    by_data = segment_reduce_grad(data, segments, out, grad, weights, **attrs) if call.wanted[0] else None
    wanted = weights is not None and call.wanted[2]
    return by_data, None, segment_reduce_weights_grad(data, segments, out, grad, weights, **attrs) if wanted else None


@op
def segment_reduce_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense | None = None,
    /,
    *,
    by: Segmentation = "lengths",
    reduce: Reduction = "sum",
    num_segments: int | None = None,
) -> Dense:
    """Return the gradient of ``segment_reduce`` by its data.

    The first of equal extremes gets the gradient; rows of result -inf (logsumexp) get 0.

    >>> segment_reduce_grad(np.zeros((3, 1)), [1, 2], np.zeros((2, 1)), np.array([[1.], [4.]]), reduce="mean")
    array([[1.],
           [2.],
           [2.]])
    """
    offsets = to_offsets(segments, by, len(data), num_segments)
    check_values(data.dtype, "the gradient", floating=True)
    return reduce_segments_grad(data, offsets, weights, out, grad, reduce)


@segment_reduce_grad.infer_rule
def _(data, segments, out, grad, weights=None, *, by="lengths", reduce="sum", num_segments=None):
    return data


@op
def segment_reduce_weights_grad(
    data: Dense,
    segments: Dense,
    out: Dense,
    grad: Dense,
    weights: Dense,
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
    offsets = to_offsets(segments, by, len(data), num_segments)
    return weights_grad(data, offsets, check_weights(weights, len(data), data.dtype), out, grad, reduce)


@segment_reduce_weights_grad.infer_rule
def _(data, segments, out, grad, weights, *, by="lengths", reduce="sum", num_segments=None):
    return weights


@segment_reduce.example
def _(dtype):
    return [((np.ones((3, d), dtype), np.array([1, 2])), {"reduce": r}) for d in (1, 4, 16, 64) for r in ("sum", "max")]
