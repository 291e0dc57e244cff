"""Gather whole runs of rows: ranges (start and length), segments by number, rows repeated (Caffe2's sparse page)."""

from __future__ import annotations

import numpy as np

from ..arrays import FLOATING, MOVED, check_gradient, check_rows, check_values, integers
from ..base.errors import LoDError, RowIndexError
from ..registry import Dense, VarDesc, VarType, op, takes_bfloat16
from .conversions import lengths_to_offsets, lengths_to_segment_ids
from .segments import segment_reduce, to_offsets
from .shared import plain
from .shared.tables import check_ids

DOCS_PAGE = "rearrange"
SEARCH_WORDS = {
    "gather_ranges": "slices of rows",
    "lengths_gather": "select segments",
    "lengths_tile": "repeat rows, repeat_interleave, np.repeat",
}


def check_data(name, data, what="data"):
    """The type of data with rows, if the operator takes it."""
    return check_values(check_rows(data, what).dtype, name)


def check_ranges_shape(shape):
    if len(shape) != 3 or shape[2] != 2:
        raise LoDError(f"ranges have shape {tuple(shape)}; they are (examples, ranges of each, 2): start and length")


def bad_range(ranges, i, rows):
    """The error for the i-th of all ranges."""
    example, feature = divmod(i, ranges.shape[1])
    start, length = ranges[example, feature].tolist()
    return RowIndexError(
        f"ranges[{example}, {feature}] = [{start}, {length}] (start, length) is not inside the {rows} rows of data; "
        "give an empty range as [0, 0]"
    )


def check_ranges(ranges, rows):
    """Check that ranges lie inside the data; return their starts and lengths, int64 of shape (examples, ranges)."""
    ranges = integers(ranges, "ranges")
    check_ranges_shape(ranges.shape)
    # Private copy: another thread may write to the array meanwhile.
    starts, lengths = ranges[..., 0].copy(), ranges[..., 1].copy()
    bad = (starts < 0) | (lengths < 0) | (starts > rows - np.maximum(lengths, 0))
    if bad.any():
        raise bad_range(ranges, int(np.argmax(bad)), rows)
    return starts, lengths


def _rows_of(starts, lengths):
    """Row numbers of runs of rows, one run after another."""
    runs = zip(starts.reshape(-1), lengths.reshape(-1), strict=True)
    return np.array([i for start, n in runs for i in range(start, start + n)], np.int64)


def check_grad(data, rows, grad):
    """The type of the gradient of ``data[rows]``, if it has one."""
    dtype = check_values(data.dtype, "the gradient", floating=True)
    check_gradient(grad, (len(rows), *data.shape[1:]))
    return dtype


def _rows_grad(data, rows, grad):
    """The dense gradient of ``data[rows]``."""
    dtype, result = check_grad(data, rows, grad), np.zeros(data.shape, np.float64)
    np.add.at(result, rows, grad)
    return result.astype(dtype)


def _describe_rows(data):
    return data.but(type=VarType.LOD_TENSOR, dims=(-1, *data.dims[1:]), lod_level=0)


@op(types=MOVED)
def gather_ranges(data: Dense, ranges: Dense, /) -> tuple[Dense, Dense]:
    """Return the rows of all ranges, one range after another, and the number of rows of each example.

    The operator corresponds to Caffe2's GatherRanges.

    Parameters
    ----------
    data : array of shape (rows, *item)
    ranges : array of int32 or int64, of shape (examples, ranges of each, 2)
        Start and length; ranges may overlap.

    Returns
    -------
    values : array of shape (total, *item)
    lengths : int64 array of shape (examples,)

    Raises
    ------
    RowIndexError
        A range that is not inside the data.

    Examples
    --------
    >>> gather_ranges(np.array([1, 2, 3, 4, 5, 6]), [[[0, 1], [2, 2]], [[4, 1], [5, 1]]])
    (array([1, 3, 4, 5, 6]), array([3, 2]))
    """
    dtype = check_data("gather_ranges", data)
    starts, lengths = check_ranges(ranges, len(data))
    return data[_rows_of(starts, lengths)].astype(dtype), lengths.sum(axis=1)


@gather_ranges.infer_rule
def _(data, ranges):
    return _describe_rows(data), VarDesc("", VarType.LOD_TENSOR, np.dtype("int64"), ranges.dims[:1])


@gather_ranges.gradient
def _(call, by_values, by_lengths=None):
    return None if by_values is None else gather_ranges_grad(*call.inputs, by_values), None


@op(like="data", types=FLOATING)
def gather_ranges_grad(data: Dense, ranges: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``gather_ranges`` by its data: gradients of a row in several ranges add up.

    >>> gather_ranges_grad(np.zeros(4), [[[0, 2], [1, 2]]], np.array([1., 2., 4., 8.]))
    array([1., 6., 8., 0.])
    """
    return _rows_grad(data, _rows_of(*check_ranges(ranges, len(data))), grad)


def check_features(lengths, features):
    """Length of each feature, as a tuple."""
    lengths = tuple(integers(lengths, "lengths").reshape(-1).tolist())
    if len(lengths) != features:
        raise LoDError(
            f"lengths={list(lengths)} are of {len(lengths)} features, ranges have {features} of each example"
        )
    if min(lengths, default=0) < 0:
        raise LoDError(f"lengths={list(lengths)} have a negative one; a feature has a fixed number of rows, 0 or more")
    return lengths


def check_ratios(found, lengths, min_observation, max_mismatched_ratio, max_empty_ratio):
    """Refuse a batch in which too many ranges of a feature are empty, or of another length."""
    empty = (found == 0).sum(axis=0)
    mismatched = ((found != np.array(lengths, np.int64)) & (found != 0)).sum(axis=0)
    observed = max(len(found), min_observation)
    for what, counts, most in (
        ("empty", empty, max_empty_ratio),
        ("not as long as lengths says", mismatched, max_mismatched_ratio),
    ):
        for feature in np.flatnonzero(counts > observed * most) if most < 1 else ():
            raise LoDError(
                f"{counts[feature]} of {len(found)} ranges of feature {feature} (lengths: {lengths[feature]}) are "
                f"{what}, more than {most} of {observed}; allow more by max_empty_ratio= or max_mismatched_ratio="
            )


def check_key(on, key, rows):
    """Keys on any device, one per row; None stays None."""
    if key is None:
        return None
    key = on.integers(key, "key")
    if key.shape != (rows,):
        raise LoDError(f"key has shape {key.shape}, the data {rows} rows; pass one key per row")
    return key


@op(types=MOVED)
def gather_ranges_to_dense(
    data: Dense,
    ranges: Dense,
    key: Dense | None = None,
    /,
    *,
    lengths: tuple,
    min_observation: int = 10000,
    max_mismatched_ratio: float = 1.0,
    max_empty_ratio: float = 1.0,
) -> tuple[Dense, ...]:
    """Return an array for each feature, from ranges of one fixed length; zeros where a range has another length.

    Caffe2's GatherRangesToDense, which remembers what it has seen of a feature; here every call counts alone.

    Parameters
    ----------
    data : array of shape (rows, *item)
    ranges : array of int32 or int64, of shape (examples, features, 2)
        Start and length.
    key : array of int, of shape (rows,), optional
        The rows of a range are sorted by key; equal keys keep their order.
    lengths : tuple of int
        Number of rows of each feature.
    min_observation : int
    max_mismatched_ratio, max_empty_ratio : float
        Raise where more than this part of a feature's ranges, or of ``min_observation`` if there are fewer, have
        another length or none. 1 never raises.

    Returns
    -------
    tuple of arrays of shape (examples, length, *item)

    Raises
    ------
    RowIndexError
        A range is not inside the rows.

    Examples
    --------
    >>> gather_ranges_to_dense(np.array([1, 2, 3, 4, 5, 6]), [[[0, 1], [1, 2]], [[4, 1], [0, 0]]], lengths=(1, 2))
    (array([[1],
           [5]]), array([[2, 3],
           [0, 0]]))
    """
    dtype = check_data("gather_ranges_to_dense", data)
    starts, found = check_ranges(ranges, len(data))
    lengths = check_features(lengths, found.shape[1])
    check_ratios(found, lengths, min_observation, max_mismatched_ratio, max_empty_ratio)
    key = check_key(plain, key, len(data))
    outs = [np.zeros((len(found), n, *data.shape[1:]), dtype) for n in lengths]
    for e, f in np.ndindex(found.shape):
        start, n = starts[e, f], found[e, f]
        if n == lengths[f]:
            order = np.arange(n) if key is None else np.argsort(key[start : start + n], kind="stable")
            outs[f][e] = data[start : start + n][order]
    return tuple(outs)


@gather_ranges_to_dense.infer_rule
def _(data, ranges, key=None, *, lengths, min_observation=10000, max_mismatched_ratio=1.0, max_empty_ratio=1.0):
    return tuple(data.but(dims=(ranges.dims[0], n, *data.dims[1:]), lod_level=0) for n in lengths)


@op(types=MOVED)
def lengths_gather(items: Dense, lengths: Dense, ids: Dense, /) -> Dense:
    """Return the rows of whole segments, by their ids, one segment after another.

    The operator corresponds to Caffe2's LengthsGather.

    Their lengths are ``gather(lengths, ids)``.

    Parameters
    ----------
    items : array of shape (rows, *item)
    lengths : array of int32 or int64
        Their sum is the number of rows.
    ids : array of int32 or int64
        Segments, each any number of times.

    Raises
    ------
    RowIndexError
        An id is negative or not below the number of segments.

    Examples
    --------
    >>> lengths_gather(np.array([1, 2, 3, 4, 5, 6]), [0, 2, 3, 1], [2, 0, 3])
    array([3, 4, 5, 6])
    """
    dtype = check_data("lengths_gather", items, "items")
    return items[_segment_rows(items, lengths, ids)].astype(dtype)


def _segment_rows(items, lengths, ids):
    offsets = to_offsets(lengths, "lengths", len(items))
    ids = check_ids(ids, len(offsets) - 1).reshape(-1)
    return _rows_of(offsets[ids], offsets[ids + 1] - offsets[ids])


@lengths_gather.infer_rule
def _(items, lengths, ids):
    return _describe_rows(items)


@op(like="items", gradient_of=lengths_gather, types=FLOATING)
def lengths_gather_grad(items: Dense, lengths: Dense, ids: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``lengths_gather`` by its items: gradients of a segment taken twice add up.

    >>> lengths_gather_grad(np.zeros(3), [1, 2], [1, 1], np.array([1., 2., 4., 8.]))
    array([ 0.,  5., 10.])
    """
    return _rows_grad(items, _segment_rows(items, lengths, ids), grad)


def check_tiles(rows, lengths):
    if lengths != rows:
        raise LoDError(f"{lengths} lengths for {rows} rows of data; pass one length per row")


@op(types=MOVED)
def lengths_tile(data: Dense, lengths: Dense, /) -> Dense:
    """Return row i of the data ``lengths[i]`` times, one row after another.

    The operator corresponds to Caffe2's LengthsTile.

    >>> lengths_tile(np.array([10, 20, 30]), [2, 0, 1])
    array([10, 10, 30])
    """
    dtype = check_data("lengths_tile", data)
    rows = lengths_to_segment_ids.definition(lengths)
    check_tiles(len(data), len(lengths_to_offsets.definition(lengths)) - 1)
    return data[rows].astype(dtype)


@lengths_tile.infer_rule
def _(data, lengths):
    return _describe_rows(data)


@lengths_tile.gradient
def _(call, grad):
    return segment_reduce(grad, call.inputs[1]), None


gather_ranges.example(lambda dtype: [((np.ones(4, dtype), np.array([[[0, 2]]])), {})])
gather_ranges_to_dense.example(lambda dtype: [((np.ones(4, dtype), np.array([[[0, 2]]])), {"lengths": (2,)})])
lengths_gather.example(lambda dtype: [((np.ones(4, dtype), np.array([1, 3]), np.array([1])), {})])
lengths_tile.example(lambda dtype: [((np.ones((2, 4), dtype), np.array([1, 3])), {})])


takes_bfloat16(gather_ranges, gather_ranges_to_dense, lengths_gather, lengths_tile)
