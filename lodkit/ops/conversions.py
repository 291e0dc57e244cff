"""Lengths, offsets and sorted segment ids: three ways to write one segmentation (Caffe2's sparse page)."""

from __future__ import annotations

import numpy as np

from ..errors import LoDError, SegmentIdError
from ..lod.levels import check_lengths, check_vector
from ..registry import Dense, op
from ..registry.desc import VarDesc


def check_offsets(offsets):
    offsets = check_vector(offsets, "offsets")
    if not len(offsets) or offsets[0] != 0:
        found = f"start at {offsets[0]}" if len(offsets) else "are empty"
        raise LoDError(f"offsets {found}; they start at 0 and have one entry more than there are segments")
    drops = offsets[1:] < offsets[:-1]  # a difference may be too large for int64
    if drops.any():
        i = int(np.argmax(drops)) + 1
        raise LoDError(f"offsets decrease at position {i}: {offsets[i - 1]}, then {offsets[i]}; they add up lengths")
    return offsets


def check_segment_ids(ids, num_segments=None):
    ids = check_vector(ids, "segment_ids")
    drops = ids[1:] < ids[:-1]
    if drops.any():
        i = int(np.argmax(drops)) + 1
        raise SegmentIdError(
            f"segment_ids decrease at position {i}: {ids[i - 1]}, then {ids[i]}; sort the rows by id first"
        )
    if len(ids) and ids[0] < 0:
        raise SegmentIdError(f"segment_ids[0] = {ids[0]} is negative; ids count from 0")
    if num_segments is not None and num_segments < 0:
        raise SegmentIdError(f"num_segments = {num_segments} is negative")
    if num_segments is not None and len(ids) and ids[-1] >= num_segments:
        i = int(np.argmax(ids >= num_segments))
        raise SegmentIdError(
            f"segment_ids[{i}] = {ids[i]} is outside [0, {num_segments}) (num_segments={num_segments})"
        )
    return ids


def check_no_gaps(ids):
    """Sorted ids that start at 0 and leave none out."""
    jumps = np.diff(ids, prepend=-1) > 1
    if jumps.any():
        i = int(np.argmax(jumps))
        after = f"after {ids[i - 1]}" if i else "at the start"
        raise SegmentIdError(f"segment_ids[{i}] = {ids[i]} {after} leaves ids out; number segments from 0 without gaps")


def _vector(x, rows=-1):
    return VarDesc("", x.type, np.dtype("int64"), (rows,))


@op
def lengths_to_offsets(lengths: Dense, /) -> Dense:
    """Return where each segment starts, and where the last one ends: int64, one entry more than lengths.

    From LengthsToOffsets of Caffe2 (with ``include_last_offset``).

    >>> lengths_to_offsets([3, 4, 2])
    array([0, 3, 7, 9])
    """
    lengths = check_lengths(lengths)
    return np.array([sum(lengths[:i].tolist()) for i in range(len(lengths) + 1)], np.int64)


@lengths_to_offsets.infer_rule
def _(lengths):
    return _vector(lengths, lengths.dims[0] + 1 if lengths.dims[0] >= 0 else -1)


@op
def offsets_to_lengths(offsets: Dense, /) -> Dense:
    """Return the length of each segment, int64.

    >>> offsets_to_lengths([0, 3, 7, 9])
    array([3, 4, 2])
    """
    offsets = check_offsets(offsets)
    return np.array([b - a for a, b in zip(offsets[:-1], offsets[1:], strict=True)], np.int64)


@offsets_to_lengths.infer_rule
def _(offsets):
    return _vector(offsets, max(offsets.dims[0] - 1, -1) if offsets.dims[0] >= 0 else -1)


@op
def lengths_to_segment_ids(lengths: Dense, /) -> Dense:
    """Return the number of its segment for every row, int64.

    LengthsToSegmentIds of Caffe2, whose one-liner on the page has its loops swapped.

    >>> lengths_to_segment_ids([3, 4, 2])
    array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    """
    lengths = check_lengths(lengths)
    return np.array([i for i, n in enumerate(lengths) for _ in range(n)], np.int64)


@lengths_to_segment_ids.infer_rule
def _(lengths):
    return _vector(lengths)


@op
def offsets_to_segment_ids(offsets: Dense, /) -> Dense:
    """Return the number of its segment for every row, int64.

    >>> offsets_to_segment_ids([0, 3, 3, 4])
    array([0, 0, 0, 2])
    """
    offsets = check_offsets(offsets)
    return np.array([i for i in range(len(offsets) - 1) for _ in range(offsets[i], offsets[i + 1])], np.int64)


@offsets_to_segment_ids.infer_rule
def _(offsets):
    return _vector(offsets)


@op
def segment_ids_to_lengths(segment_ids: Dense, /, *, num_segments: int | None = None) -> Dense:
    """Return how many rows each segment has, from sorted segment ids (gaps are empty segments), int64.

    SegmentIdsToLengths of Caffe2.

    Parameters
    ----------
    num_segments : int, optional
        The last id + 1 by default.

    >>> segment_ids_to_lengths([0, 0, 2], num_segments=4)
    array([2, 0, 1, 0])
    """
    ids = check_segment_ids(segment_ids, num_segments)
    count = num_segments if num_segments is not None else (int(ids[-1]) + 1 if len(ids) else 0)
    return np.array([(ids == i).sum() for i in range(count)], np.int64)


@segment_ids_to_lengths.infer_rule
def _(segment_ids, *, num_segments=None):
    return _vector(segment_ids, -1 if num_segments is None else num_segments)


@op
def segment_ids_to_offsets(segment_ids: Dense, /, *, num_segments: int | None = None, allow_gaps: bool = True) -> Dense:
    """Return where each segment starts and the last one ends, from sorted segment ids, int64.

    Parameters
    ----------
    num_segments : int, optional
        The last id + 1 by default.
    allow_gaps : bool
        Whether ids may be left out, whose segments are empty. Caffe2's SortedSegment* refuse that.

    >>> segment_ids_to_offsets([0, 0, 2], num_segments=4)
    array([0, 2, 2, 3, 3])
    """
    if not allow_gaps:
        check_no_gaps(check_segment_ids(segment_ids, num_segments))
    lengths = segment_ids_to_lengths.definition(segment_ids, num_segments=num_segments)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@segment_ids_to_offsets.infer_rule
def _(segment_ids, *, num_segments=None, allow_gaps=True):
    return _vector(segment_ids, -1 if num_segments is None else num_segments + 1)


for _operator in (lengths_to_offsets, lengths_to_segment_ids, segment_ids_to_lengths, segment_ids_to_offsets):
    _operator.example(lambda dtype: [((np.array([0, 1, 1]),), {})])
for _operator in (offsets_to_lengths, offsets_to_segment_ids):
    _operator.example(lambda dtype: [((np.array([0, 1, 3]),), {})])
