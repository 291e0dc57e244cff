"""Rows of padding before and behind every segment, or in place of an empty one (Caffe2's AddPadding)."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, MOVED, SUMMED, check_gradient, check_rows, check_values, mixed_types, total_dtype
from ..arrays.sizes import checked_size
from ..base.errors import LoDError, ShapeMismatchError
from ..registry import Dense, op, takes_bfloat16
from .padding import split_rows
from .segments import check_rows as check_sum
from .segments import result_dtype
from .shared import plain

DOCS_PAGE = "pad"
SEARCH_WORDS = {
    "add_padding": "start of sequence, end of sequence, bos, eos, begin and end marks",
    "remove_padding": "strip bos and eos",
}


def check_widths(padding_width, end_padding_width):
    """Rows of padding before and behind a segment."""
    for name, width in (("padding_width", padding_width), ("end_padding_width", end_padding_width)):
        if width is not None and width < 0:
            raise ValueError(f"{name} = {width} is negative; it counts rows of padding")
    before, behind = padding_width, padding_width if end_padding_width is None else end_padding_width
    checked_size(before + behind, "padding_width + end_padding_width")
    return before, behind


def padded_rows(rows, segments, before, behind):
    """Rows with the padding of all segments."""
    what = "rows of data + segments * (padding_width + end_padding_width)"
    return checked_size(rows + segments * (before + behind), what)


def check_pads(data, start, end):
    """Refuse padding that is not like a row of data. Returns the rows before and behind; None for zeros."""
    for name, pad in (("start_padding", start), ("end_padding", end)):
        if pad is None:
            continue
        if pad.dtype.kind != data.dtype.kind:
            raise mixed_types(name, pad.dtype, "the data", data.dtype)
        if tuple(pad.shape) != tuple(data.shape[1:]):
            item = tuple(data.shape[1:])
            raise ShapeMismatchError(f"{name} has shape {tuple(pad.shape)}, a row of data {item}; pass one like it")
    return start, start if end is None else end


def check_removed(lengths, before, behind):
    """Refuse segments with fewer rows than their padding."""
    if len(lengths) and np.minimum.reduce(lengths) < before + behind:
        i = int(np.argmax(lengths < before + behind))
        raise LoDError(
            f"lengths[{i}] = {lengths[i]} is less than the {before} + {behind} rows of padding of a segment; "
            "pass the lengths that add_padding returned, with its widths"
        )


def check_room(on, data, offsets, before, behind):
    """Refuse padding that all rows do not hold: products of numbers of rows wrap nowhere then."""
    if (len(offsets) - 1) * (before + behind) > len(data):
        check_removed(on.read(on.edge_padding.lengths_of(offsets)), before, behind)


def offsets_of(on, data, lengths):
    """Checked offsets of the segments of all rows, on any device; without lengths, of one segment."""
    rows = len(check_rows(data, "data"))
    if lengths is None:
        return on.send(data, np.array([0, rows]))
    offsets, total, _ = on.sum_lengths(lengths)
    if total != rows:
        check_sum("lengths", (total,), rows)
    return offsets


def prepare_edges(on, data, lengths, what, padding_width, end_padding_width):
    """Check segments that get or have padding, on any device.

    Returns the type of the values, the offsets, and the rows of padding before and behind.
    """
    dtype = check_values(data.dtype, what)
    before, behind = check_widths(padding_width, end_padding_width)
    return dtype, offsets_of(on, data, lengths), before, behind


def prepare_samples(on, data, lengths, what, grad=None):
    """Check segments of which empty ones get a row, on any device.

    Returns the type of the values, the offsets, the lengths then, their offsets, and the rows in all.
    """
    dtype = check_values(data.dtype, what, floating=grad is not None)
    offsets = offsets_of(on, data, lengths)
    padded = on.clip_lengths(lengths, low=1)
    slots, rows, _ = on.sum_lengths(padded)
    if grad is not None:
        check_gradient(grad, (rows, *data.shape[1:]))
    return dtype, offsets, padded, slots, rows


@op(types=MOVED)
def add_padding(
    data: Dense,
    lengths: Dense | None = None,
    start_padding: Dense | None = None,
    end_padding: Dense | None = None,
    /,
    *,
    padding_width: int = 1,
    end_padding_width: int | None = None,
) -> tuple:
    """Put rows of padding before and after every segment. AddPadding of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64, optional
        Rows of each segment; they add up to the rows of data. One segment by default.
    start_padding, end_padding : array of shape (*item,), optional
        Row of padding before and after. ``end_padding`` is like ``start_padding`` by default, both are zeros without.
    padding_width, end_padding_width : int
        Number of such rows. The second is like the first by default.

    Returns
    -------
    padded : array of shape (rows and padding, *item)
    lengths : array of int64
        Rows of each segment with its padding.

    Raises
    ------
    LoDError
        Lengths are negative, or do not add up.
    ShapeMismatchError, DTypeError
        Padding is not like a row of data.

    >>> add_padding(np.array([1, 2, 3]), [2, 1], np.array(7), np.array(9))
    (array([7, 1, 2, 9, 7, 3, 9]), array([4, 3]))
    """
    dtype, offsets, before, behind = prepare_edges(
        plain, data, lengths, "add_padding", padding_width, end_padding_width
    )
    zero = np.zeros(data.shape[1:], dtype)
    pads = [zero if pad is None else pad for pad in check_pads(data, start_padding, end_padding)]
    first, last = np.repeat(pads[:1], before, axis=0), np.repeat(pads[1:], behind, axis=0)
    parts = [part for rows in split_rows(data, offsets) for part in (first, rows, last)]
    return np.concatenate([data[:0], *parts]).astype(dtype), np.diff(offsets) + before + behind


@add_padding.infer_rule
def _(data, lengths=None, start_padding=None, end_padding=None, *, padding_width=1, end_padding_width=None):
    count = 1 if lengths is None else lengths.dims[0]
    known = data.dims[0] >= 0 and count >= 0
    rows = data.dims[0] + count * sum(check_widths(padding_width, end_padding_width)) if known else -1
    return data.but(dims=(rows, *data.dims[1:])), data.but(dtype=np.dtype("int64"), dims=(count,))


@add_padding.gradient(reads_outputs=True)
def _(call, grad, _):
    padded = call.outputs[1]
    start, end = (*call.inputs[2:], None, None)[:2]
    by_data = remove_padding(grad, padded, **call.attrs)[0]
    if start is None and end is None:
        return by_data, None
    before, behind = gather_padding(grad, padded, **call.attrs)
    if end is None:
        from .selected_rows import sum as add

        before = add(before, behind)
    return by_data, None, before, behind


@op(types=MOVED)
def remove_padding(
    data: Dense, lengths: Dense | None = None, /, *, padding_width: int = 1, end_padding_width: int | None = None
) -> tuple:
    """Remove the first and last rows of every segment. RemovePadding of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64, optional
        Rows of each segment, padding included. One segment by default.
    padding_width, end_padding_width : int
        Number of rows to remove at the start and at the end. The second is like the first by default.

    Returns
    -------
    rows : array of shape (rows without padding, *item)
    lengths : array of int64
        Rows that are left of each segment.

    Raises
    ------
    LoDError
        Lengths are negative, do not add up, or a segment has fewer rows than its padding.

    >>> remove_padding(np.array([7, 1, 2, 9, 7, 3, 9]), [4, 3])
    (array([1, 2, 3]), array([2, 1]))
    """
    dtype, offsets, before, behind = prepare_edges(
        plain, data, lengths, "remove_padding", padding_width, end_padding_width
    )
    lengths = np.diff(offsets)
    check_removed(lengths, before, behind)
    rows = np.concatenate([data[:0], *(s[before : len(s) - behind] for s in split_rows(data, offsets))])
    return rows.astype(dtype), lengths - before - behind


@remove_padding.infer_rule
def _(data, lengths=None, *, padding_width=1, end_padding_width=None):
    count = 1 if lengths is None else lengths.dims[0]
    return data.but(dims=(-1, *data.dims[1:])), data.but(dtype=np.dtype("int64"), dims=(count,))


@remove_padding.gradient(reads_outputs=True)
def _(call, grad, _):
    return add_padding(grad, call.outputs[1], **call.attrs)[0], None


@op(types=SUMMED)
def gather_padding(
    data: Dense, lengths: Dense | None = None, /, *, padding_width: int = 1, end_padding_width: int | None = None
) -> tuple:
    """Sum the padding before all segments, and the padding after all segments. GatherPadding of Caffe2.

    The gradient of ``add_padding`` by its paddings.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64, optional
        Rows of each segment, padding included. One segment by default.
    padding_width, end_padding_width : int
        Number of rows of padding before and after. The second is like the first by default.

    Returns
    -------
    before, behind : array of shape (*item,)
        int32 adds up as int64.

    Raises
    ------
    LoDError
        Lengths are negative, do not add up, or a segment has fewer rows than its padding.

    >>> gather_padding(np.array([7, 1, 2, 9, 7, 3, 9]), [4, 3])
    (array(14), array(18))
    """
    _, offsets, before, behind = prepare_edges(plain, data, lengths, "gather_padding", padding_width, end_padding_width)
    dtype, segments = result_dtype(data.dtype, "sum"), split_rows(data, offsets)
    check_removed(np.diff(offsets), before, behind)
    none = np.zeros((0, *data.shape[1:]), total_dtype(dtype))
    starts = np.concatenate([none, *(s[:before] for s in segments)])
    ends = np.concatenate([none, *(s[len(s) - behind :] for s in segments)])
    return np.asarray(starts.sum(axis=0), dtype), np.asarray(ends.sum(axis=0), dtype)


@gather_padding.infer_rule
def _(data, lengths=None, *, padding_width=1, end_padding_width=None):
    return (data.but(dtype=result_dtype(data.dtype, "sum"), dims=data.dims[1:]),) * 2


@op(types=MOVED)
def pad_empty_samples(data: Dense, lengths: Dense, /) -> tuple:
    """Give every empty segment one row of zeros. PadEmptySamples of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64
        Rows of each segment; they add up to the rows of data.

    Returns
    -------
    padded : array of shape (rows and padding, *item)
    lengths : array of int64
        The lengths, 1 where they were 0.

    Raises
    ------
    LoDError
        Lengths are negative, or do not add up.

    >>> pad_empty_samples(np.array([5, 6]), [1, 0, 1])
    (array([5, 0, 6]), array([1, 1, 1]))
    """
    dtype, offsets, padded, _, _ = prepare_samples(plain, data, lengths, "pad_empty_samples")
    zero = np.zeros((1, *data.shape[1:]), dtype)
    parts = [rows if len(rows) else zero for rows in split_rows(data, offsets)]
    return np.concatenate([data[:0], *parts]).astype(dtype), padded


@pad_empty_samples.infer_rule
def _(data, lengths):
    return data.but(dims=(-1, *data.dims[1:])), lengths.but(dtype=np.dtype("int64"))


@op(like="data", gradient_of=pad_empty_samples, types=FLOATING)
def pad_empty_samples_grad(data: Dense, lengths: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``pad_empty_samples``: the output gradient without the rows of empty segments.

    >>> pad_empty_samples_grad(np.zeros(2), [1, 0, 1], np.array([1., 2., 3.]))
    array([1., 3.])
    """
    dtype, _, _, slots, _ = prepare_samples(plain, data, lengths, "the gradient", grad)
    parts = [rows[:n] for rows, n in zip(split_rows(grad, slots), lengths, strict=True)]
    return np.concatenate([grad[:0], *parts]).astype(dtype)


for _operator in (add_padding, remove_padding, gather_padding, pad_empty_samples):
    _operator.example(lambda dtype: [((np.ones((3, 2), dtype), np.array([3])), {})])


takes_bfloat16(add_padding, remove_padding, pad_empty_samples)
