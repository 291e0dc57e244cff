"""Segments side by side in a padded array, and laid end to end again (Caffe2's PackSegments)."""

from __future__ import annotations

import numpy as np

from ..arrays import check_gradient, check_rows, check_values
from ..errors import LoDError, ShapeMismatchError
from ..lod.levels import check_lengths
from ..registry import Dense, op
from .conversions import lengths_to_offsets
from .segments import check_rows as check_sum
from .shared.reductions import pad_of


def segments_of(data, lengths):
    """The definition's segments: arrays of rows, after the checks."""
    offsets = lengths_to_offsets.definition(lengths)
    check_sum("lengths", offsets, len(check_rows(data, "data")))
    return [data[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def check_width(width, name):
    if width is not None and width < 0:
        raise ValueError(f"{name} = {width} is negative; it counts the rows of a padded segment")
    return width


def check_fit(lengths, width, remedy):
    """Refuse lengths above ``width``."""
    if len(lengths) and lengths.max() > width:
        i = int(np.argmax(lengths > width))
        raise LoDError(f"lengths[{i}] = {lengths[i]} is more than the {width} rows of a padded segment; {remedy}")


def check_padded(data, count, axis=0):
    """Refuse what is no padded array of ``count`` segments, which stand on ``axis``, 0 or 1."""
    order = "(segments, rows, *item)" if axis == 0 else "(rows, segments, *item)"
    if len(data.shape) < 2:
        raise ShapeMismatchError(f"data has shape {tuple(data.shape)}; padded segments are {order}")
    if data.shape[axis] != count:
        raise LoDError(f"data has {data.shape[axis]} segments, of shape {tuple(data.shape)}; lengths has {count}")


CUT = "pass max_length= for segments that were cut to it"


def check_unpacked(data, lengths, max_length):
    """The lengths of the segments of a padded array, cut to ``max_length``."""
    lengths = check_lengths(lengths)
    check_padded(data, len(lengths))
    if check_width(max_length, "max_length") is not None:
        lengths = np.minimum(lengths, max_length)
    check_fit(lengths, data.shape[1], CUT)
    return lengths


def padded_shape(lengths, max_length, shape):
    width = max_length if max_length is not None else int(lengths.max(initial=0))
    return len(lengths), width, *shape[1:]


@op
def pack_segments(
    data: Dense,
    lengths: Dense,
    /,
    *,
    max_length: int | None = None,
    pad_value: float = 0.0,
    return_presence_mask: bool = False,
) -> Dense:
    """Put segments side by side, ``pad_value`` behind the end of short ones. PackSegments of Caffe2.

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
        Return also which rows are data: bool, ``(segments, width)``.

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
    dtype = check_values(data.dtype, "pack_segments")
    check_width(max_length, "max_length")
    segments, lengths = segments_of(data, lengths), check_lengths(lengths)
    out = np.full(padded_shape(lengths, max_length, data.shape), pad_of(pad_value, dtype), dtype)
    mask = np.zeros(out.shape[:2], bool)
    for s, rows in enumerate(segments):
        out[s, : len(rows)] = rows[: out.shape[1]]
        mask[s, : len(rows)] = True
    return (out, mask) if return_presence_mask else out


@pack_segments.infer_rule
def _(data, lengths, *, max_length=None, pad_value=0.0, return_presence_mask=False):
    batch = lengths.dims[0], -1 if max_length is None else max_length
    packed = data.but(dims=(*batch, *data.dims[1:]))
    return (packed, data.but(dtype=np.dtype(bool), dims=batch)) if return_presence_mask else packed


@pack_segments.gradient
def _(call, grad, *_):
    data, lengths = call.inputs
    return pack_segments_grad(data, lengths, grad, max_length=call.attrs["max_length"]), None


@op
def pack_segments_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length: int | None = None) -> Dense:
    """Return the gradient of ``pack_segments``: a row for every row of data, zeros for those that were cut off.

    >>> pack_segments_grad(np.zeros(3), [1, 2], np.array([[1.], [2.]]), max_length=1)
    array([1., 2., 0.])
    """
    check_values(data.dtype, "the gradient", floating=True)
    segments, lengths = segments_of(data, lengths), check_lengths(lengths)
    check_gradient(grad, padded_shape(lengths, check_width(max_length, "max_length"), data.shape))
    result = [np.zeros((0, *data.shape[1:]))]
    for rows, g in zip(segments, grad, strict=True):
        result += [g[: len(rows)], 0.0 * rows[len(g) :]]
    return np.concatenate(result).astype(data.dtype)


@pack_segments_grad.infer_rule
def _(data, lengths, grad, *, max_length=None):
    return data


@op
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
        A length is negative or more than ``width``, or there is not one for every segment.

    >>> unpack_segments(np.array([[1, 0], [2, 3]]), [1, 2])
    array([1, 2, 3])
    """
    dtype = check_values(data.dtype, "unpack_segments")
    lengths = check_unpacked(data, lengths, max_length)
    rows = [segment[:n] for segment, n in zip(data, lengths, strict=True)]
    return np.concatenate([np.empty((0, *data.shape[2:]), dtype), *rows]).astype(dtype)


@unpack_segments.infer_rule
def _(data, lengths, *, max_length=None):
    return data.but(dims=(-1, *data.dims[2:]))


@unpack_segments.gradient
def _(call, grad):
    return unpack_segments_grad(*call.inputs, grad, **call.attrs), None


@op
def unpack_segments_grad(data: Dense, lengths: Dense, grad: Dense, /, *, max_length: int | None = None) -> Dense:
    """Return the gradient of ``unpack_segments``: zeros for the padding.

    >>> unpack_segments_grad(np.zeros((2, 2)), [1, 2], np.array([1., 2., 3.]))
    array([[1., 0.],
           [2., 3.]])
    """
    check_values(data.dtype, "the gradient", floating=True)
    lengths = check_unpacked(data, lengths, max_length)
    check_gradient(grad, (lengths.sum(), *data.shape[2:]))
    return pack_segments.definition(grad, lengths, max_length=data.shape[1]).astype(data.dtype)


@unpack_segments_grad.infer_rule
def _(data, lengths, grad, *, max_length=None):
    return data


@op
def lengths_pad(data: Dense, lengths: Dense, /, *, target_length: int, pad_value: float = 0.0) -> Dense:
    """Make all segments ``target_length`` rows long, ``pad_value`` behind the end. LengthsPad of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64
        Rows of each segment, at most ``target_length``.
    target_length : int
    pad_value : float
        Caffe2's is -1 by default.

    Returns
    -------
    array of shape (segments * target_length, *item)

    Raises
    ------
    LoDError
        Lengths are negative, do not add up, or one is above ``target_length``.

    >>> lengths_pad(np.array([1, 2, 3]), [1, 2], target_length=2)
    array([1, 0, 2, 3])
    """
    lengths = check_lengths(lengths)
    check_fit(lengths, check_width(target_length, "target_length"), LONGER)
    packed = pack_segments.definition(data, lengths, max_length=target_length, pad_value=pad_value)
    return packed.reshape(len(lengths) * target_length, *data.shape[1:])


LONGER = "pass a larger target_length, or cut with pack_segments(..., max_length=...)"


@lengths_pad.infer_rule
def _(data, lengths, *, target_length, pad_value=0.0):
    rows = lengths.dims[0] * target_length if lengths.dims[0] >= 0 else -1
    return data.but(dims=(rows, *data.dims[1:]))


@lengths_pad.gradient
def _(call, grad):
    data, lengths = call.inputs
    packed = grad.reshape(len(lengths), call.attrs["target_length"], *data.shape[1:])
    return unpack_segments(packed, lengths), None


for _operator in (pack_segments, unpack_segments):
    _operator.example(lambda dtype: [((np.ones((2, 2), dtype), np.array([1, 1])), {})])
lengths_pad.example(lambda dtype: [((np.ones((2, 2), dtype), np.array([1, 1])), {"target_length": 2})])
