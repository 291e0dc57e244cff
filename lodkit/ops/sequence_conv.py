"""Convolutions along sequences: each row sees its neighbours in its own sequence, and the padding of its ends."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import FLOATING, check_gradient, check_same_type, native
from ..base.errors import ShapeMismatchError
from ..lod import LoDTensor
from ..registry import Dense, op

DOCS_PAGE = "attend"
SEARCH_WORDS = {
    "row_conv": "lookahead convolution, deep speech",
    "sequence_conv": "convolution, Conv1d, conv1d, 1d convolution, temporal convolution, TextCNN, window",
}


def check_window(start, length):
    """Start of the window, relative to its own row."""
    if length < 1:
        raise ValueError(f"sequence_conv: context_length must be at least 1, got {length}")
    return -(length // 2) if start is None else int(start)


def edges(start, length):
    """Return the number of rows of padding before and after a sequence."""
    return max(0, -start), max(0, start + length - 1)


def clip_start(start, length, rows):
    """Clip ``start`` to where windows overlap a sequence; with zero padding the result is the same."""
    return max(-rows - length, min(start, rows))


def uses_of_padding(offsets, start, length):
    """Return rows whose windows, ``t + start`` to ``t + start + length`` for row t, read padding; and their offsets.

    ``rows[ends[u]:ends[u + 1]]`` read padding ``u // length`` at step ``u % length``.
    """
    starts, stops = offsets[:-1], offsets[1:]
    before, behind = edges(start, length)
    rows, ends = [starts[:0]], [0]
    for edge in range(before + behind):
        first = (starts if edge < before else stops) + (edge - before - start)
        for step in range(length):
            row = first - step
            rows.append(row[(starts <= row) & (row < stops)])
            ends.append(ends[-1] + len(rows[-1]))
    return np.concatenate(rows), np.array(ends)


def check_conv(values, weight, padding, start, length):
    """Check the inputs of sequence_conv. Returns the start of the window."""
    start = check_window(start, length)
    check_same_type("sequence_conv", values, filter=weight, padding=padding)
    width = math.prod(values.shape[1:])
    if weight.ndim != 2 or weight.shape[0] != length * width:
        raise ShapeMismatchError(
            f"sequence_conv: windows of {length} rows of {width} elements meet a filter of shape "
            f"{tuple(weight.shape)}; it must be ({length * width}, n)"
        )
    before, behind = edges(start, length)
    rows = before + behind, *values.shape[1:]
    if padding is not None and tuple(padding.shape) != tuple(rows):
        raise ShapeMismatchError(
            f"sequence_conv: the padding has shape {tuple(padding.shape)}, it must be {tuple(rows)}: windows reach "
            f"{before} rows before a sequence and {behind} after it"
        )
    return start


def _windows(x, padding, start, length):
    """For each row and step of its window: the row of ``x`` there, or -1; and the row of padding, or -1."""
    before, _ = edges(start, length)
    for begin, end in zip(x._row_offsets()[:-1], x._row_offsets()[1:], strict=True):
        for row in range(begin, end):
            for step in range(length):
                at = row + start + step
                if begin <= at < end:
                    yield row, step, at, -1
                elif padding is not None:
                    yield row, step, -1, before + at - (begin if at < begin else end)


def _context(x, padding, start, length):
    values = x.values.reshape(len(x.values), math.prod(x.values.shape[1:]))
    # A window of nothing may have 2**60 rows.
    if not values.size:
        return np.zeros((len(values), length * values.shape[1]))
    context = np.zeros((len(values), length, values.shape[1]))
    for row, step, at, edge in _windows(x, padding, start, length):
        context[row, step] = values[at] if at >= 0 else padding[edge].reshape(-1)
    return context.reshape(len(values), length * values.shape[1])


@op(types=FLOATING)
def sequence_conv(
    x: LoDTensor,
    filter: Dense,
    padding: Dense | None = None,
    /,
    *,
    context_start: int | None = None,
    context_length: int,
) -> LoDTensor:
    """Convolve along sequences: ``out[t]`` is the rows around t, side by side, times the filter.

    sequence_conv of Paddle, at any number of levels. The window of row t has ``context_length`` rows from ``t +
    context_start`` on, within the innermost sequence of row t. Beyond its ends the window has zeros, or the rows of a
    learned padding. The products are BLAS's: a sequence's result alone and in a batch agrees to rounding.

    Parameters
    ----------
    x : LoDTensor
        Rows of any shape, which are flattened.
    filter : array of shape (context_length * width, n)
    padding : array of shape (before + behind, *item), optional
        The ``before = max(0, -context_start)`` rows before every sequence, then the ``behind = max(0, context_start +
        context_length - 1)`` rows after it.
    context_start : int, optional
        0 is the row itself, -1 the one before. ``-(context_length // 2)`` by default.
    context_length : int
        At least 1.

    Returns
    -------
    LoDTensor
        Rows ``(n,)``, in the structure of x. float16 is computed in float32.

    Raises
    ------
    ShapeMismatchError
        The filter or the padding does not fit the window.

    Examples
    --------
    >>> x = LoDTensor(np.array([1., 2., 4., 8.]), [[3, 1]])
    >>> sequence_conv(x, np.ones((3, 1)), context_length=3).values.ravel()
    array([3., 7., 6., 8.])
    >>> sequence_conv(x, np.ones((2, 1)), np.array([10.]), context_start=0, context_length=2).values.ravel()
    array([ 3.,  6., 14., 18.])
    """
    start = check_conv(x.values, filter, padding, context_start, context_length)
    out = np.einsum("tk,km->tm", _context(x, padding, start, context_length), filter.astype(np.float64))
    return x.with_values(out.astype(native(x.dtype)))


@sequence_conv.infer_rule
def _(x, filter, padding=None, *, context_start=None, context_length):
    check_window(context_start, context_length)
    width = -1 if -1 in x.dims[1:] else context_length * math.prod(x.dims[1:])
    if len(filter.dims) != 2 or (width >= 0 and filter.dims[0] not in (-1, width)):
        raise ShapeMismatchError(f"sequence_conv: a filter of shape {tuple(filter.dims)} must be ({width}, n)")
    return x.but(dims=(x.dims[0], filter.dims[1]))


@op(like=("x", "filter", "padding"), gradient_of=sequence_conv, types=FLOATING)
def sequence_conv_grad(
    x: LoDTensor,
    filter: Dense,
    grad: Dense,
    padding: Dense | None = None,
    /,
    *,
    context_start: int | None = None,
    context_length: int,
) -> tuple:
    """Return the gradients of ``sequence_conv`` by the rows, the filter and the padding, if given.

    >>> x = LoDTensor(np.array([1., 2., 4.]), [[2, 1]])
    >>> sequence_conv_grad(x, np.array([[3.], [5.]]), np.ones((3, 1)), context_start=0, context_length=2)[0]
    array([3., 8., 3.])
    """
    start = check_conv(x.values, filter, padding, context_start, context_length)
    check_gradient(grad, (len(x.values), filter.shape[1]))
    g = grad.astype(np.float64)
    by_filter = np.einsum("tk,tm->km", _context(x, padding, start, context_length), g)
    by_x, by_padding = np.zeros(x.values.shape), [] if padding is None else [np.zeros(padding.shape)]
    by_context = np.einsum("tm,km->tk", g, filter.astype(np.float64))
    if by_context.size:
        by_context = by_context.reshape(len(g), context_length, *x.values.shape[1:])
    for row, step, at, edge in _windows(x, padding, start, context_length) if by_context.size else ():
        if at >= 0:
            by_x[at] += by_context[row, step]
        else:
            by_padding[0][edge] += by_context[row, step]
    return tuple(d.astype(native(x.dtype)) for d in (by_x, by_filter, *by_padding))


def check_row_conv(values, weight):
    check_same_type("row_conv", values, filter=weight)
    if tuple(weight.shape[1:]) != tuple(values.shape[1:]) or weight.ndim < 1:
        raise ShapeMismatchError(
            f"row_conv: the filter has shape {tuple(weight.shape)}, it must be (context, "
            f"{', '.join(map(str, values.shape[1:]))}): a factor per element of the rows ahead"
        )


def _context_rows(x, context):
    """Each row of ``x``, and the rows of its sequence from it on, at most ``context``."""
    for begin, end in zip(x._row_offsets()[:-1], x._row_offsets()[1:], strict=True):
        for row in range(begin, end):
            yield row, range(row, min(end, row + context))


@op(like="x", types=FLOATING)
def row_conv(x: LoDTensor, filter: Dense, /) -> LoDTensor:
    """Let each row look ahead: ``out[t]`` is the sum of ``filter[k] * x[t + k]`` inside the innermost sequence.

    row_conv of Paddle, which refuses empty sequences.

    Parameters
    ----------
    x : LoDTensor
        Rows of any shape.
    filter : array of shape (context, *item)
        ``filter[0]`` is for the row itself.

    Returns
    -------
    LoDTensor
        Like x. float16 is computed in float32.

    Raises
    ------
    ShapeMismatchError
        Rows of the filter do not fit rows of x.

    Examples
    --------
    >>> row_conv(LoDTensor(np.array([1., 2., 4., 8.]), [[3, 0, 1]]), np.array([1., 10.])).values
    array([21., 42.,  4.,  8.])
    """
    check_row_conv(x.values, filter)
    values, factors, out = x.values.astype(np.float64), filter.astype(np.float64), np.zeros(x.values.shape)
    for row, ahead in _context_rows(x, len(filter)):
        for at in ahead:
            out[row] += factors[at - row] * values[at]
    return x.with_values(out.astype(native(x.dtype)))


@op(like=("x", "filter"), gradient_of=row_conv, types=FLOATING)
def row_conv_grad(x: LoDTensor, filter: Dense, grad: Dense, /) -> tuple[Dense, Dense]:
    """Return the gradients of ``row_conv`` by its rows and its filter.

    >>> row_conv_grad(LoDTensor(np.array([1., 2.]), [[2]]), np.array([1., 10.]), np.array([1., 1.]))
    (array([ 1., 11.]), array([3., 2.]))
    """
    check_row_conv(x.values, filter)
    g = check_gradient(grad, x.values.shape).astype(np.float64)
    values, factors = x.values.astype(np.float64), filter.astype(np.float64)
    by_x, by_filter = np.zeros(values.shape), np.zeros(factors.shape)
    for row, ahead in _context_rows(x, len(filter)):
        for at in ahead:
            by_x[at] += factors[at - row] * g[row]
            by_filter[at - row] += values[at] * g[row]
    return by_x.astype(native(x.dtype)), by_filter.astype(native(x.dtype))


def _sequence(dtype):
    return LoDTensor(np.ones((3, 2), dtype), [[2, 1]])


@sequence_conv.example
def _(dtype):
    return [((_sequence(dtype), np.ones((6, 2), dtype)), {"context_length": 3})]


@row_conv.example
def _(dtype):
    return [((_sequence(dtype), np.ones((2, 2), dtype)), {})]
