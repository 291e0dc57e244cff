"""Definitions of segment reductions and their gradients: one NumPy call per segment, in double precision."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np

from ...arrays import (
    ORDERED,
    SUMMED,
    VALUE_TYPES,
    cast_to,
    check_gradient,
    check_values,
    is_bfloat16,
    is_floating,
    is_half,
    is_time,
    name_of_dtype,
    native,
    time_of,
    to_dtype,
    total_dtype,
    upcast,
)
from ...base.errors import DTypeError, LoDError

#: The type that may be asked for: the first of float16, the second of the mean of integers.
ResultType = Literal["float32", "float64"]
Reduction = Literal["sum", "mean", "sqrt", "max", "min", "prod", "logsumexp", "logmeanexp", "first", "last"]


def _logsumexp(rows, over=1):
    """Logarithm of the sum of exponentials, or of their mean over so many: divided first, for a difference cancels."""
    top = rows.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(rows - shift).sum(axis=0) / over) + shift


def shares(rows):
    """Softmax, the gradient of logsumexp and logmeanexp: 0 under -inf, equal shares for several +inf."""
    top = rows.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        parts = np.exp(rows - np.where(np.isfinite(top), top, 0))
        parts = parts / parts.sum(axis=0)
    ends = np.isposinf(rows) / np.maximum(np.isposinf(rows).sum(axis=0), 1)
    return np.where(np.isposinf(top), ends, np.where(np.isneginf(top), 0, parts))


def log_shares(rows):
    """Logarithm of ``shares``."""
    top = rows.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        shifted = rows - top
        return np.where(np.isinf(top), np.log(shares(rows)), shifted - np.log(np.exp(shifted).sum(axis=0)))


def _product_of_others(rows):
    """Product of the other rows, for each row: the gradient of prod, zeros included."""
    before, after = np.ones_like(rows), np.ones_like(rows)
    for i in range(1, len(rows)):
        before[i] = before[i - 1] * rows[i - 1]
        after[-1 - i] = after[-i] * rows[-i]
    return before * after


REDUCE = {
    "sum": lambda rows: rows.sum(axis=0),
    "mean": lambda rows: rows.mean(axis=0),
    "sqrt": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "max": lambda rows: rows.max(axis=0),
    "min": lambda rows: rows.min(axis=0),
    "prod": lambda rows: rows.prod(axis=0),
    "logsumexp": _logsumexp,
    "logmeanexp": lambda rows: _logsumexp(rows, len(rows)),
    "first": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}
ARG = {"max": np.argmax, "min": np.argmin}


def order_keys(values, nat_first=False):
    """Numbers in the order of the values: of times integers, among which NaT is the largest, as for ``np.sort``, or the
    least.
    """
    if values.dtype.kind not in "mM":
        return values
    return values.astype(native(values.dtype)).view(np.int64) - (not nat_first)


#: Reductions whose result is one of the values, so that times have them too.
SELECTIONS = frozenset(("max", "min", "first", "last"))
#: Reductions that give integers no integer.
FRACTIONS = frozenset(("mean", "sqrt", "logsumexp", "logmeanexp"))


def result_dtype(dtype, reduce, asked=None, *, may_ask=True):
    """Type of the result: that of the values, int64 or uint64 for sum and prod of integers.

    The mean of integers, and what else has fractions, is refused unless float64 is asked for. ``may_ask`` says whether
    the operator has the attribute for that.
    """
    dtype = check_values(dtype, reduce, takes=ORDERED if reduce in SELECTIONS else SUMMED, bfloat16=True)
    if not is_floating(dtype) and reduce in FRACTIONS:
        if asked is None or np.dtype(asked) != np.float64:
            ask = "pass dtype='float64', or " if may_ask else ""
            raise DTypeError(f"{reduce} of {dtype} values is no integer; {ask}{cast_to(np.float64)}")
        return np.dtype(np.float64)
    if asked is not None and asked != dtype:
        # Kernels ask for more by a numpy.dtype: float32 is summed in blocks of float32.
        if not (is_half(dtype) or dtype == np.float32) or (asked == "float64" and type(asked) is str):
            means = f"mean, sqrt, logsumexp and logmeanexp of integers, not {reduce} of"
            others = "float16 and bfloat16 data, not" if asked == "float32" else means
            raise DTypeError(f"dtype={asked!r} is for {others} {dtype}; convert the result with .astype(np.{asked})")
        return np.dtype(asked)
    return total_dtype(dtype) if not is_floating(dtype) and reduce in ("sum", "prod") else dtype


def pad_of(pad_value, dtype):
    """``pad_value`` as a value of ``dtype``."""
    if not (is_time(pad_value) or dtype.kind in "mM"):
        return _number_of(pad_value, dtype)
    if (time := time_of(pad_value, dtype)) is None:
        raise _bad_pad(pad_value, dtype)
    return time


# Of numbers alone: a month is equal to 1 and has its hash, and durations of no unit have none.
@functools.lru_cache(256)
def _number_of(pad_value, dtype):
    if not is_floating(dtype):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        # Floating numbers hold integers up to 2**53 only.
        if not (np.isfinite(pad_value) and pad_value == int(pad_value) and low <= int(pad_value) <= high):
            raise _bad_pad(pad_value, dtype)
        return np.array(int(pad_value), dtype)[()]
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum turns -0.0 into 0.0.
        pad = to_dtype(np.asarray(pad_value + 0.0, np.float64), dtype)[()]
    if np.isinf(upcast(np.asarray(pad))) and not np.isinf(pad_value):
        raise _bad_pad(pad_value, dtype)
    return pad


def _bad_pad(pad_value, dtype):
    return ValueError(
        f"pad_value {pad_value} is no value of {name_of_dtype(dtype)}; pass one that is, or convert the values"
    )


WEIGHTED = ("sum", "mean")  # reductions that weights have a meaning with


def check_weights(weights, rows, dtype, reduce):
    """Refuse weights of a reduction that has no use for them, not one per row, or not floating."""
    if reduce not in WEIGHTED:
        raise ValueError(f"weights have a meaning with sum and mean, not with {reduce}")
    if weights.shape != (rows,):
        raise LoDError(f"weights have shape {weights.shape}, but there are {rows} rows; pass one weight per row")
    if is_bfloat16(dtype) and weights.dtype == dtype:
        return weights
    for kind in (dtype, weights.dtype):
        if kind.kind != "f" or native(kind) not in VALUE_TYPES:
            raise DTypeError(
                f"weights of type {weights.dtype} over values of type {dtype}; both must be floating, of at most 64 "
                f"bits; {cast_to(np.float64, of=kind, which=f'the {kind} array ')}"
            )
    return weights


def reduce_segments(values, offsets, weights, reduce, pad_value, dtype=None):
    """Define all segment reductions, with checked weights."""
    dtype = result_dtype(values.dtype, reduce, dtype)
    out = np.full((len(offsets) - 1, *values.shape[1:]), pad_of(pad_value, dtype), dtype)
    exact = values if values.dtype.kind in "mM" else values.astype(total_dtype(dtype))
    if weights is not None:
        scale = weights.astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if a == b:
            continue
        if weights is None:
            out[s] = REDUCE[reduce](exact[a:b])
        elif total := {"sum": 1.0, "mean": scale[a:b].sum()}[reduce]:
            out[s] = (exact[a:b] * scale[a:b]).sum(axis=0) / total
    return out


def argreduce_segments(values, offsets, reduce):
    """Row of the first extreme of each segment and column; -1 for an empty segment."""
    index = np.full((len(offsets) - 1, *values.shape[1:]), -1, np.int64)
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if a < b:
            index[s] = a + ARG[reduce](values[a:b], axis=0)
    return index


def check_grad_output(values, offsets, out, grad):
    """Refuse an output gradient, or a result ``out``, of another shape than the result of the reduction."""
    shape = (len(offsets) - 1, *values.shape[1:])
    check_gradient(grad, shape, bfloat16=True)
    if out is not None:
        check_gradient(out, shape, "out", bfloat16=True)


def reduce_segments_grad(values, offsets, weights, out, grad, reduce):
    """Define the gradient by the values."""
    check_grad_output(values, offsets, out, grad)
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
        elif reduce in ("logsumexp", "logmeanexp"):
            result[a:b] = g * shares(values[a:b].astype(np.float64))
        elif reduce == "prod":
            result[a:b] = g * _product_of_others(values[a:b].astype(np.float64))
        else:
            result[{"first": a, "last": b - 1}[reduce]] = g
    return result.astype(values.dtype)


def weights_grad(values, offsets, weights, out, grad, reduce):
    """Define the gradient by the weights: the share of each row in the result, times the output gradient."""
    check_grad_output(values, offsets, out, grad)
    result = np.zeros(len(values), np.float64)
    for s, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        total = {"sum": 1.0, "mean": weights[a:b].astype(np.float64).sum()}[reduce]
        if a < b and total != 0:
            base = out[s].astype(np.float64) if reduce == "mean" else 0.0
            rows = (values[a:b].astype(np.float64) - base) * grad[s] / total
            result[a:b] = rows.reshape(b - a, -1).sum(axis=1)
    return result.astype(weights.dtype)
