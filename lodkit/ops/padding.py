"""Segments side by side in a padded array, and laid end to end again (Caffe2's PackSegments)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_rows, check_values
from ..base.errors import LoDError, ShapeMismatchError
from ..registry import Dense, op, takes_bfloat16
from .segments import check_rows as check_sum
from .shared import plain
from .shared.reductions import pad_of

DOCS_PAGE = "pad"
SEARCH_WORDS = {
    "pack_segments": "jagged_to_padded_dense, to padded",
    "unpack_segments": "padded to jagged, dense_to_jagged",
    "lengths_pad": "pad to fixed length",
}

CUT = "pass max_length= for segments that were cut to it"
STEPS = "there is a length for each column of data, of at most as many rows as it has"
LONGER = "pass a larger max_length, or cut with pack_segments(..., max_length=...)"


def check_width(width, name):
    """A number of rows, or None."""
    if width is None:
        return None
    if width < 0:
        raise ValueError(f"{name} = {width} is negative; it counts the rows of a padded segment")
    return int(width)


def length_error(on, offsets, width, remedy):
    """The error for the first segment longer than ``width``."""
    lengths = np.diff(on.read(offsets))
    i = int(np.argmax(lengths > width))
    return LoDError(f"lengths[{i}] = {lengths[i]} is more than the {width} rows of a padded segment; {remedy}")


def prepare_packed(on, data, lengths, what, width, name="max_length", remedy=None, grad=None):
    """Check segments to put side by side, on any device; with a remedy, none may be longer than ``width``.

    Returns the type of the values, the offsets, and the width: the longest length unless it is given.
    """
    dtype = check_values(data.dtype, what, floating=grad is not None)
    width = check_width(width, name)
    offsets, rows, longest = on.sum_lengths(lengths, longest=width is None or remedy is not None)
    if rows != len(check_rows(data, "data")):
        check_sum("lengths", (rows,), len(data))
    if width is None:
        width = longest
    elif remedy is not None and longest > width:
        raise length_error(on, offsets, width, remedy)
    if grad is not None:
        check_gradient(grad, (len(offsets) - 1, width, *data.shape[1:]))
    return dtype, offsets, width


def prepare_unpacked(on, data, lengths, what, axis=0, max_length=None, grad=None):
    """Check a padded array, whose segments stand on axis 0 or 1, on any device.

    Returns the type of the values, the offsets, and the rows of all segments.
    """
    dtype = check_values(data.dtype, what, floating=grad is not None)
    if max_length is not None:
        lengths = on.clip_lengths(lengths, high=check_width(max_length, "max_length"))
    offsets, rows, longest = on.sum_lengths(lengths, longest=True)
    shape, count = data.shape, len(offsets) - 1
    if len(shape) < 2:
        order = "(rows, segments, *item)" if axis else "(segments, rows, *item)"
        raise ShapeMismatchError(f"data has shape {shape}; padded segments are {order}")
    if shape[axis] != count:
        raise LoDError(f"data has {shape[axis]} segments, of shape {shape}; lengths has {count}")
    if longest > shape[1 - axis]:
        raise length_error(on, offsets, shape[1 - axis], STEPS if axis else CUT)
    if grad is not None:
        check_gradient(grad, (rows, *shape[2:]))
    return dtype, offsets, rows


def split_rows(data, offsets):
    """Rows of each segment."""
    return [data[a:b] for a, b in pairwise(offsets.tolist())]


@op(types=MOVED)
def pack_segments(
    data: Dense,
    lengths: Dense,
    /,
    *,
    max_length: int | None = None,
    pad_value: float = 0.0,
    return_presence_mask: bool = False,
) -> Dense:
    """Put segments side by side, ``pad_value`` after the end of short segments. PackSegments of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
        float16, float32, float64, int32 or int64.
    lengths : array of int32 or int64
        Rows of each segment; they add up to the rows of data.
    max_length : int, optional
        The width; rows beyond it are cut off. The longest length by default.
    pad_value : float
    return_presence_mask : bool
        Return also a mask of the rows that are data: bool, ``(segments, width)``.

    Returns
    -------
    array of shape (segments, width, *item)

    Raises
    ------
    LoDError
        Lengths are negative, or do not add up.

    >>> pack_segments(np.array([1, 2, 3, 4]), [1, 0, 3], pad_value=-1)
    array([[ 1, -1, -1],
           [-1, -1, -1],
           [ 2,  3,  4]])
    """
    dtype, offsets, width = prepare_packed(plain, data, lengths, "pack_segments", max_length)
    out = np.full((len(offsets) - 1, width, *data.shape[1:]), pad_of(pad_value, dtype), dtype)
    mask = np.zeros(out.shape[:2], bool)
    for s, rows in enumerate(split_rows(data, offsets)):
        out[s, : len(rows)] = rows[:width]
        mask[s, : len(rows)] = True
    return (out, mask) if return_presence_mask else out


@pack_segments.infer_rule
def _(data, lengths, *, max_length=None, pad_value=0.0, return_presence_mask=False):
    batch = lengths.dims[0], -1 if max_length is None else max_length
    packed = data.but(dims=(*batch, *data.dims[1:]))
    return (packed, data.but(dtype=np.dtype(bool), dims=batch)) if return_presence_mask else packed


@op(like="data", gradient_of=pack_segments, types=FLOATING)
def pack_segments_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length: int | None = None) -> Dense:
    """Return the gradient of ``pack_segments``: zeros for rows that were cut off.

    >>> pack_segments_grad(np.zeros(3), [1, 2], np.array([[1.], [2.]]), max_length=1)
    array([1., 2., 0.])
    """
    dtype, offsets, width = prepare_packed(plain, data, lengths, "the gradient", max_length, grad=grad)
    result = np.zeros(data.shape, dtype)
    for rows, g in zip(split_rows(result, offsets), grad, strict=True):
        rows[:width] = g[: len(rows)]
    return result


@op(types=MOVED)
def unpack_segments(data: Dense, lengths: Dense, /, *, max_length: int | None = None) -> Dense:
    """Lay the segments of a padded array end to end, without the padding. UnpackSegments of Caffe2.

    Parameters
    ----------
    data : array of shape (segments, width, *item)
    lengths : array of int32 or int64
        Rows of each segment, at most ``width``.
    max_length : int, optional
        Lengths above it count as it, as in segments that ``pack_segments`` cut.

    Returns
    -------
    array of shape (rows, *item)

    Raises
    ------
    LoDError
        A length is negative or more than ``width``, or there is not one per segment.

    >>> unpack_segments(np.array([[1, 0], [2, 3]]), [1, 2])
    array([1, 2, 3])
    """
    dtype, offsets, _ = prepare_unpacked(plain, data, lengths, "unpack_segments", max_length=max_length)
    rows = [segment[:n] for segment, n in zip(data, np.diff(offsets), strict=True)]
    return np.concatenate([np.empty((0, *data.shape[2:]), dtype), *rows]).astype(dtype)


@unpack_segments.infer_rule
def _(data, lengths, *, max_length=None):
    return data.but(dims=(-1, *data.dims[2:]))


@op(like="data", gradient_of=unpack_segments, types=FLOATING)
def unpack_segments_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length: int | None = None) -> Dense:
    """Return the gradient of ``unpack_segments``: zeros for the padding.

    >>> unpack_segments_grad(np.zeros((2, 2)), [1, 2], np.array([1., 2., 3.]))
    array([[1., 0.],
           [2., 3.]])
    """
    dtype, offsets, _ = prepare_unpacked(plain, data, lengths, "the gradient", max_length=max_length, grad=grad)
    return pack_segments.definition(grad, np.diff(offsets), max_length=data.shape[1]).astype(dtype)


@op(types=MOVED)
def lengths_pad(data: Dense, lengths: Dense, /, *, max_length: int, pad_value: float = 0.0) -> Dense:
    """Make all segments ``max_length`` rows long, with ``pad_value`` after the end. LengthsPad of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64
        Rows of each segment, at most ``max_length``.
    max_length : int
    pad_value : float
        Caffe2's is -1 by default.

    Returns
    -------
    array of shape (segments * max_length, *item)

    Raises
    ------
    LoDError
        Lengths are negative, do not add up, or one is above ``max_length``.

    >>> lengths_pad(np.array([1, 2, 3]), [1, 2], max_length=2)
    array([1, 0, 2, 3])
    """
    prepare_packed(plain, data, lengths, "lengths_pad", max_length, "max_length", LONGER)
    packed = pack_segments.definition(data, lengths, max_length=max_length, pad_value=pad_value)
    return packed.reshape(len(lengths) * max_length, *data.shape[1:])


@lengths_pad.infer_rule
def _(data, lengths, *, max_length, pad_value=0.0):
    rows = lengths.dims[0] * max_length if lengths.dims[0] >= 0 else -1
    return data.but(dims=(rows, *data.dims[1:]))


@lengths_pad.gradient
def _(call, grad):
    data, lengths = call.inputs
    packed = grad.reshape(len(lengths), call.attrs["max_length"], *data.shape[1:])
    return unpack_segments(packed, lengths), None


for _operator in (pack_segments, unpack_segments):
    _operator.example(lambda dtype: [((np.ones((2, 2), dtype), np.array([1, 1])), {})])
lengths_pad.example(lambda dtype: [((np.ones((2, 2), dtype), np.array([1, 1])), {"max_length": 2})])


takes_bfloat16(pack_segments, unpack_segments, lengths_pad)
