"""Lengths, offsets and segment ids: representations of one segmentation (Caffe2's sparse page)."""

from __future__ import annotations

import numpy as np

from ..arrays import INTEGERS
from ..base.errors import LoDError, SegmentIdError
from ..lod import check_lengths, check_vector
from ..registry import Dense, VarDesc, op

DOCS_PAGE = "convert"
SEARCH_WORDS = {
    "lengths_to_offsets": "row_splits, cumulative sum of lengths, cu_seqlens, asynchronous_complete_cumsum, indptr",
    "lengths_to_segment_ids": "repeat_interleave, value_rowids",
    "offsets_to_lengths": "row_lengths, diff of offsets",
    "offsets_to_segment_ids": "batch index, batch vector of PyTorch Geometric",
    "segment_ids_to_lengths": "bincount",
    "segment_ids_to_offsets": "CSR, indptr",
}


def check_offsets(offsets):
    offsets = check_vector(offsets, "offsets")
    if not len(offsets) or offsets[0] != 0:
        found = f"start at {offsets[0]}" if len(offsets) else "are empty"
        raise LoDError(f"offsets {found}; they start at 0 and have one entry more than there are segments")
    # A difference may be too large for int64.
    drops = offsets[1:] < offsets[:-1]
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
        raise _segment_id_error(ids, int(np.argmax(ids >= num_segments)), num_segments)
    return ids


def check_no_gaps(ids):
    """Refuse sorted ids that leave one out, or do not start at 0."""
    jumps = np.diff(ids, prepend=-1) > 1
    if jumps.any():
        i = int(np.argmax(jumps))
        after = f"after {ids[i - 1]}" if i else "at the start"
        raise SegmentIdError(f"segment_ids[{i}] = {ids[i]} {after} leaves ids out; number segments from 0 without gaps")


def check_unsorted_ids(ids, num_segments=None):
    ids = check_vector(ids, "segment_ids")
    if num_segments is not None and num_segments < 0:
        raise SegmentIdError(f"num_segments = {num_segments} is negative")
    bad = (ids < 0) | (ids >= (np.iinfo(np.int64).max if num_segments is None else num_segments))
    if bad.any():
        i = int(np.argmax(bad))
        if ids[i] < 0:
            raise SegmentIdError(f"segment_ids[{i}] = {ids[i]} is negative; ids count from 0")
        raise _segment_id_error(ids, i, num_segments)
    return ids


def _segment_id_error(ids, i, num_segments):
    if num_segments is None:
        return SegmentIdError(f"segment_ids[{i}] = {ids[i]} is no number of a segment; number segments from 0")
    return SegmentIdError(f"segment_ids[{i}] = {ids[i]} is outside [0, {num_segments}) (num_segments={num_segments})")


def check_num_segments(by, given, found):
    if given is not None and given != found:
        raise LoDError(f"num_segments = {given}, but there are {found} segments by {by}")


def check_rows(by, offsets, rows):
    if offsets[-1] != rows:
        what = {"lengths": "lengths add up to", "offsets": "the last offset is"}.get(by, "segment_ids number")
        raise LoDError(f"{what} {offsets[-1]}, but the data has {rows} rows; every row belongs to one segment")


def to_offsets(segments, by, rows, num_segments=None):
    """Offsets over ``rows`` rows from lengths, offsets or sorted ids."""
    if by == "ids":
        offsets = segment_ids_to_offsets.definition(segments, num_segments=num_segments)
    else:
        offsets = {"lengths": lengths_to_offsets.definition, "offsets": check_offsets}[by](segments)
        check_num_segments(by, num_segments, len(offsets) - 1)
    check_rows(by, offsets, rows)
    return offsets


def group_segments(segments, by, rows, num_segments=None):
    """Offsets, and the order that brings the rows of a segment together: None unless ids are unsorted."""
    if by != "unsorted_ids":
        return to_offsets(segments, by, rows, num_segments), None
    ids = check_unsorted_ids(segments, num_segments)
    order = np.argsort(ids, kind="stable")
    return to_offsets(ids[order], "ids", rows, num_segments), order


def vector_desc(x, rows=-1):
    """Describe a vector of int64, of the kind of ``x``."""
    return VarDesc("", x.type, np.dtype("int64"), (rows,))


@op(types=INTEGERS)
def lengths_to_offsets(lengths: Dense, /) -> Dense:
    """Return the start of each segment and the end of the last: int64, one entry more than lengths.

    From LengthsToOffsets of Caffe2 (with ``include_last_offset``).

    >>> lengths_to_offsets([3, 4, 2])
    array([0, 3, 7, 9])
    """
    lengths = check_lengths(lengths)
    return np.array([sum(lengths[:i].tolist()) for i in range(len(lengths) + 1)], np.int64)


@lengths_to_offsets.infer_rule
def _(lengths):
    return vector_desc(lengths, lengths.dims[0] + 1 if lengths.dims[0] >= 0 else -1)


@op(types=INTEGERS)
def offsets_to_lengths(offsets: Dense, /) -> Dense:
    """Return the length of each segment, int64.

    >>> offsets_to_lengths([0, 3, 7, 9])
    array([3, 4, 2])
    """
    offsets = check_offsets(offsets)
    return np.array([b - a for a, b in zip(offsets[:-1], offsets[1:], strict=True)], np.int64)


@offsets_to_lengths.infer_rule
def _(offsets):
    return vector_desc(offsets, max(offsets.dims[0] - 1, -1) if offsets.dims[0] >= 0 else -1)


@op(types=INTEGERS)
def lengths_to_segment_ids(lengths: Dense, /) -> Dense:
    """Return the segment of each row, int64.

    LengthsToSegmentIds of Caffe2, whose one-liner on the page has its loops swapped.

    >>> lengths_to_segment_ids([3, 4, 2])
    array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    """
    lengths = check_lengths(lengths)
    return np.array([i for i, n in enumerate(lengths) for _ in range(n)], np.int64)


lengths_to_segment_ids.infer_rule(vector_desc)


@op(types=INTEGERS)
def offsets_to_segment_ids(offsets: Dense, /) -> Dense:
    """Return the segment of each row, int64.

    >>> offsets_to_segment_ids([0, 3, 3, 4])
    array([0, 0, 0, 2])
    """
    offsets = check_offsets(offsets)
    return np.array([i for i in range(len(offsets) - 1) for _ in range(offsets[i], offsets[i + 1])], np.int64)


offsets_to_segment_ids.infer_rule(vector_desc)


@op(types=INTEGERS)
def segment_ids_to_lengths(segment_ids: Dense, /, *, num_segments: int | None = None) -> Dense:
    """Return the length of each segment, from sorted segment ids (gaps are empty segments), int64.

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
    return vector_desc(segment_ids, -1 if num_segments is None else num_segments)


@op(types=INTEGERS)
def segment_ids_to_offsets(segment_ids: Dense, /, *, num_segments: int | None = None, allow_gaps: bool = True) -> Dense:
    """Return the start of each segment and the end of the last, from sorted segment ids, int64.

    Parameters
    ----------
    num_segments : int, optional
        The last id + 1 by default.
    allow_gaps : bool
        Accept ids that are left out: their segments are empty. Caffe2's SortedSegment* refuse that.

    >>> segment_ids_to_offsets([0, 0, 2], num_segments=4)
    array([0, 2, 2, 3, 3])
    """
    if not allow_gaps:
        check_no_gaps(check_segment_ids(segment_ids, num_segments))
    lengths = segment_ids_to_lengths.definition(segment_ids, num_segments=num_segments)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@segment_ids_to_offsets.infer_rule
def _(segment_ids, *, num_segments=None, allow_gaps=True):
    return vector_desc(segment_ids, -1 if num_segments is None else num_segments + 1)


for _operator in (lengths_to_offsets, lengths_to_segment_ids, segment_ids_to_lengths, segment_ids_to_offsets):
    _operator.example(lambda dtype: [((np.array([0, 1, 1]),), {})])
for _operator in (offsets_to_lengths, offsets_to_segment_ids):
    _operator.example(lambda dtype: [((np.array([0, 1, 3]),), {})])
