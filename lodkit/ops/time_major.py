"""Segments side by side, step by step, as recurrent layers read them (Caffe2's PackRNNSequence)."""

from __future__ import annotations

import numpy as np

from ..arrays import MOVED
from ..registry import Dense, op, takes_bfloat16
from .padding import pack_segments, prepare_packed, prepare_unpacked, unpack_segments
from .shared import plain

DOCS_PAGE = "pad"
SEARCH_WORDS = {
    "pack_rnn_sequence": "time major, batch_first=False, padded RNN input",
    "unpack_rnn_sequence": "from time major",
    "reverse_packed_segs": "reverse padded",
}

LARGER = "pass a larger num_steps"


@op(types=MOVED)
def pack_rnn_sequence(data: Dense, lengths: Dense, /, *, num_steps: int | None = None) -> Dense:
    """Put segments side by side, zeros after the end of short segments. PackRNNSequence of Caffe2.

    Parameters
    ----------
    data : array of shape (rows, *item)
    lengths : array of int32 or int64
        Rows of each segment; they add up to the rows of data.
    num_steps : int, optional
        At least the longest length, which it is by default.

    Returns
    -------
    array of shape (num_steps, segments, *item)

    Raises
    ------
    LoDError
        Lengths are negative, do not add up, or one is more than ``num_steps``.

    >>> pack_rnn_sequence(np.array([1, 2, 3]), [1, 2])
    array([[1, 2],
           [0, 3]])
    """
    prepare_packed(plain, data, lengths, "pack_rnn_sequence", num_steps, "num_steps", LARGER)
    return np.swapaxes(pack_segments.definition(data, lengths, max_length=num_steps), 0, 1).copy()


@pack_rnn_sequence.infer_rule
def _(data, lengths, *, num_steps=None):
    return data.but(dims=(-1 if num_steps is None else num_steps, lengths.dims[0], *data.dims[1:]))


@pack_rnn_sequence.gradient
def _(call, grad):
    return unpack_rnn_sequence(grad, call.inputs[1]), None


@op(types=MOVED)
def unpack_rnn_sequence(data: Dense, lengths: Dense, /) -> Dense:
    """Lay the segments of a time-major array end to end. UnpackRNNSequence of Caffe2.

    Parameters
    ----------
    data : array of shape (steps, segments, *item)
    lengths : array of int32 or int64
        Rows of each segment, at most ``steps``.

    Returns
    -------
    array of shape (rows, *item)

    Raises
    ------
    LoDError
        A length is negative or more than ``steps``, or there is not one per segment.

    >>> unpack_rnn_sequence(np.array([[1, 2], [0, 3]]), [1, 2])
    array([1, 2, 3])
    """
    prepare_unpacked(plain, data, lengths, "unpack_rnn_sequence", axis=1)
    return unpack_segments.definition(np.swapaxes(data, 0, 1), lengths)


@unpack_rnn_sequence.infer_rule
def _(data, lengths):
    return data.but(dims=(-1, *data.dims[2:]))


@unpack_rnn_sequence.gradient
def _(call, grad):
    data, lengths = call.inputs
    return pack_rnn_sequence(grad, lengths, num_steps=data.shape[0]), None


@op(like="data", types=MOVED)
def reverse_packed_segs(data: Dense, lengths: Dense, /) -> Dense:
    """Reverse the rows of each segment that are data; padding stays. ReversePackedSegs of Caffe2.

    Parameters
    ----------
    data : array of shape (steps, segments, *item)
    lengths : array of int32 or int64
        Rows of each segment, at most ``steps``.

    Returns
    -------
    array like data

    Raises
    ------
    LoDError
        A length is negative or more than ``steps``, or there is not one per segment.

    >>> reverse_packed_segs(np.array([[1, 4], [2, 5], [3, 6]]), [3, 2])
    array([[3, 5],
           [2, 4],
           [1, 6]])
    """
    dtype, offsets, _ = prepare_unpacked(plain, data, lengths, "reverse_packed_segs", axis=1)
    out = data.astype(dtype)
    for s, n in enumerate(np.diff(offsets)):
        out[:n, s] = data[:n, s][::-1]
    return out


@reverse_packed_segs.gradient
def _(call, grad):
    return reverse_packed_segs(grad, call.inputs[1]), None


for _operator in (unpack_rnn_sequence, reverse_packed_segs):
    _operator.example(lambda dtype: [((np.ones((2, 1, 2), dtype), np.array([1])), {})])
pack_rnn_sequence.example(lambda dtype: [((np.ones((2, 2), dtype), np.array([2])), {})])


takes_bfloat16(unpack_rnn_sequence, reverse_packed_segs)
