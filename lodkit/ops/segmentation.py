"""Arrays derived from a segmentation: range of each segment, position and weight of each row, shape."""

from __future__ import annotations

import numpy as np

from ..arrays import INTEGERS
from ..base.errors import LoDError
from ..lod import check_lengths
from ..registry import Dense, op
from .conversions import lengths_to_offsets, segment_ids_to_offsets, vector_desc

DOCS_PAGE = "convert"
SEARCH_WORDS = {
    "lengths_range_fill": "position ids, arange per sequence, positions in a sequence, cumcount",
    "lengths_to_weights": "length normalisation",
    "lengths_to_ranges": "start and length",
}


@op(types=INTEGERS)
def lengths_to_ranges(lengths: Dense, /) -> Dense:
    """Return offset and length of each segment: int64 of shape (segments, 2).

    LengthsToRanges of Caffe2.

    >>> lengths_to_ranges([3, 0, 2])
    array([[0, 3],
           [3, 0],
           [3, 2]])
    """
    offsets = lengths_to_offsets.definition(lengths)
    return np.stack([offsets[:-1], np.diff(offsets)], axis=1)


@lengths_to_ranges.infer_rule
def _(lengths):
    return vector_desc(lengths).but(dims=(lengths.dims[0], 2))


@op(types=INTEGERS)
def segment_ids_to_ranges(segment_ids: Dense, /, *, num_segments: int | None = None) -> Dense:
    """Return offset and length of each segment, from sorted segment ids: int64 of shape (segments, 2).

    An empty segment has the offset that its rows would have. SegmentIdsToRanges of Caffe2, where segments after the
    last id have offset 0.

    Parameters
    ----------
    num_segments : int, optional
        The last id + 1 by default.

    >>> segment_ids_to_ranges([0, 0, 2], num_segments=4)
    array([[0, 2],
           [2, 0],
           [2, 1],
           [3, 0]])
    """
    offsets = segment_ids_to_offsets.definition(segment_ids, num_segments=num_segments)
    return np.stack([offsets[:-1], np.diff(offsets)], axis=1)


@segment_ids_to_ranges.infer_rule
def _(segment_ids, *, num_segments=None):
    return vector_desc(segment_ids).but(dims=(-1 if num_segments is None else num_segments, 2))


@op(types=INTEGERS)
def lengths_range_fill(lengths: Dense, /) -> Dense:
    """Return the position of each row in its segment, int64: ``arange(length)`` of every segment, end to end.

    LengthsRangeFill of Caffe2.

    >>> lengths_range_fill([3, 0, 2])
    array([0, 1, 2, 0, 1])
    """
    return np.array([i for n in check_lengths(lengths) for i in range(n)], np.int64)


lengths_range_fill.infer_rule(vector_desc)


@op(types=INTEGERS)
def lengths_to_weights(lengths: Dense, /, *, power: float = 0.5) -> Dense:
    """Return ``1 / length ** power`` for each row, float32.

    As weights of a sum, power 1 gives the mean of each segment, and 0.5 the sum over the square root of its length.
    LengthsToWeights of Caffe2.

    >>> lengths_to_weights([4, 0, 1])
    array([0.5, 0.5, 0.5, 0.5, 1. ], dtype=float32)
    """
    return np.array([float(n) ** -power for n in check_lengths(lengths) for _ in range(n)], np.float32)


@lengths_to_weights.infer_rule
def _(lengths, *, power=0.5):
    return vector_desc(lengths).but(dtype=np.float32)


@op(types=INTEGERS)
def lengths_to_shape(lengths: Dense, /) -> Dense:
    """Return the shape of segments of equal length as one array: ``[segments, length]``, int64.

    LengthsToShape of Caffe2.

    Raises
    ------
    LoDError
        Two lengths differ.

    Examples
    --------
    >>> lengths_to_shape([2, 2, 2])
    array([3, 2])
    """
    lengths = check_lengths(lengths)
    check_equal(lengths)
    return np.array([len(lengths), lengths[0] if len(lengths) else 0], np.int64)


def check_equal(lengths):
    """Refuse lengths that differ from the first."""
    others = np.flatnonzero(lengths != lengths[:1]) if len(lengths) else ()
    if len(others):
        i = int(others[0])
        raise LoDError(
            f"lengths[{i}] = {lengths[i]}, but lengths[0] = {lengths[0]}: segments of different lengths have no "
            "shape together; pad them: LoDTensor(...).to_padded()"
        )


@lengths_to_shape.infer_rule
def _(lengths):
    return vector_desc(lengths, 2)


for _operator in (lengths_to_ranges, segment_ids_to_ranges, lengths_range_fill, lengths_to_weights, lengths_to_shape):
    _operator.example(lambda dtype: [((np.array([1, 1, 1]),), {})])
