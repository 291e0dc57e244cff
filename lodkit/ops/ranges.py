"""Gather whole runs of rows: ranges (start and length), segments by number, rows repeated (Caffe2's sparse page)."""

from __future__ import annotations

import numpy as np

from ..arrays import check_gradient, check_rows, check_values, integers, native
from ..errors import LoDError, RowIndexError
from ..registry import Dense, op
from ..registry.desc import VarDesc, VarType
from .conversions import lengths_to_offsets, lengths_to_segment_ids
from .segments import segment_reduce, to_offsets
from .shared.tables import check_ids


def check_ranges_shape(shape):
    if len(shape) != 3 or shape[2] != 2:
        raise LoDError(f"ranges have shape {tuple(shape)}; they are (examples, ranges of each, 2): start and length")


def bad_range(ranges, i, rows):
    """The error for the i-th range of all."""
    example, feature = divmod(i, ranges.shape[1])
    start, length = ranges[example, feature].tolist()
    return RowIndexError(
        f"ranges[{example}, {feature}] = [{start}, {length}] (start, length) is not inside the {rows} rows of data; "
        "give an empty range as [0, 0]"
    )


def check_ranges(ranges, rows):
    """``ranges`` as int64, each inside the data."""
    ranges = integers(ranges, "ranges")
    check_ranges_shape(ranges.shape)
    start, length = ranges[..., 0], ranges[..., 1]
    bad = (start < 0) | (length < 0) | (start > rows - np.maximum(length, 0))
    if bad.any():
        raise bad_range(ranges, int(np.argmax(bad)), rows)
    return ranges


def _rows_of(starts, lengths):
    """The row numbers of runs of rows, one run after another."""
    return np.array([i for start, n in zip(starts, lengths, strict=True) for i in range(start, start + n)], np.int64)


def _rows_grad(data, rows, grad):
    """The dense gradient of ``data[rows]``."""
    check_values(data.dtype, "the gradient", floating=True)
    check_gradient(grad, (len(rows), *data.shape[1:]))
    result = np.zeros(data.shape, np.float64)
    np.add.at(result, rows, grad)
    return result.astype(native(data.dtype))


def _some_rows(data):
    return data.but(type=VarType.LOD_TENSOR, dims=(-1, *data.dims[1:]), lod_level=0)


@op
def gather_ranges(data: Dense, ranges: Dense, /) -> tuple[Dense, Dense]:
    """Return the rows of all ranges, one range after another, and how many rows each example has.

    Caffe2's GatherRanges.

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
    check_values(check_rows(data, "data").dtype, "gather_ranges")
    ranges = check_ranges(ranges, len(data))
    rows = _rows_of(*ranges.reshape(-1, 2).T)
    return data[rows].astype(native(data.dtype)), ranges[..., 1].sum(axis=1)


@gather_ranges.infer_rule
def _(data, ranges):
    return _some_rows(data), VarDesc("", VarType.LOD_TENSOR, np.dtype("int64"), ranges.dims[:1])


@gather_ranges.gradient
def _(call, by_values, by_lengths=None):
    return None if by_values is None else gather_ranges_grad(*call.inputs, by_values), None


@op
def gather_ranges_grad(data: Dense, ranges: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``gather_ranges`` by its data: what flows to a row of several ranges adds up.

    >>> gather_ranges_grad(np.zeros(4), [[[0, 2], [1, 2]]], np.array([1., 2., 4., 8.]))
    array([1., 6., 8., 0.])
    """
    ranges = check_ranges(ranges, len(data))
    return _rows_grad(data, _rows_of(*ranges.reshape(-1, 2).T), grad)


@gather_ranges_grad.infer_rule
def _(data, ranges, grad):
    return data


def check_features(lengths, features):
    """``lengths`` as a tuple: the length of each feature."""
    lengths = tuple(integers(lengths, "lengths").reshape(-1).tolist())
    if len(lengths) != features:
        raise LoDError(
            f"lengths={list(lengths)} are of {len(lengths)} features, ranges have {features} of each example"
        )
    if min(lengths, default=0) < 0:
        raise LoDError(f"lengths={list(lengths)} have a negative one; a feature has a fixed number of rows, 0 or more")
    return lengths


def check_ratios(ranges, lengths, min_observation, max_mismatched_ratio, max_empty_ratio):
    """Refuse a batch in which too many ranges of a feature are empty, or of another length."""
    found = ranges[..., 1]
    empty = (found == 0).sum(axis=0)
    mismatched = ((found != np.array(lengths, np.int64)) & (found != 0)).sum(axis=0)
    observed = max(len(ranges), min_observation)
    for what, counts, most in (
        ("empty", empty, max_empty_ratio),
        ("not as long as lengths says", mismatched, max_mismatched_ratio),
    ):
        for feature in np.flatnonzero(counts > observed * most) if most < 1 else ():
            raise LoDError(
                f"{counts[feature]} of {len(ranges)} ranges of feature {feature} (lengths: {lengths[feature]}) are "
                f"{what}, more than {most} of {observed}; allow more by max_empty_ratio= or max_mismatched_ratio="
            )


def check_key(shape, rows):
    if tuple(shape) != (rows,):
        raise LoDError(f"key has shape {tuple(shape)}, the data {rows} rows; pass one key a row")


@op
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
        How many rows each feature has.
    min_observation : int
    max_mismatched_ratio, max_empty_ratio : float
        Raise where more than this part of a feature's ranges, or of ``min_observation`` if there are fewer, have
        another length or none. 1 never raises.

    Returns
    -------
    tuple of arrays of shape (examples, length, *item)

    Examples
    --------
    >>> gather_ranges_to_dense(np.array([1, 2, 3, 4, 5, 6]), [[[0, 1], [1, 2]], [[4, 1], [0, 0]]], lengths=(1, 2))
    (array([[1],
           [5]]), array([[2, 3],
           [0, 0]]))
    """
    check_values(check_rows(data, "data").dtype, "gather_ranges_to_dense")
    ranges = check_ranges(ranges, len(data))
    lengths = check_features(lengths, ranges.shape[1])
    check_ratios(ranges, lengths, min_observation, max_mismatched_ratio, max_empty_ratio)
    if key is not None:
        key = integers(key, "key")
        check_key(key.shape, len(data))
    outs = [np.zeros((len(ranges), n, *data.shape[1:]), native(data.dtype)) for n in lengths]
    for e, f in np.ndindex(ranges.shape[:2]):
        start, n = ranges[e, f]
        if n == lengths[f]:
            order = np.arange(n) if key is None else np.argsort(key[start : start + n], kind="stable")
            outs[f][e] = data[start : start + n][order]
    return tuple(outs)


@gather_ranges_to_dense.infer_rule
def _(data, ranges, key=None, *, lengths, min_observation=10000, max_mismatched_ratio=1.0, max_empty_ratio=1.0):
    return tuple(data.but(dims=(ranges.dims[0], n, *data.dims[1:]), lod_level=0) for n in lengths)


@op
def lengths_gather(items: Dense, lengths: Dense, ids: Dense, /) -> Dense:
    """Return the rows of whole segments, by their numbers, one segment after another. Caffe2's LengthsGather.

    Their lengths are ``gather(lengths, ids)``.

    Parameters
    ----------
    items : array of shape (rows, *item)
    lengths : array of int32 or int64
        They add up to the rows.
    ids : array of int32 or int64
        Numbers of segments, any number of times each.

    >>> lengths_gather(np.array([1, 2, 3, 4, 5, 6]), [0, 2, 3, 1], [2, 0, 3])
    array([3, 4, 5, 6])
    """
    check_values(check_rows(items, "items").dtype, "lengths_gather")
    return items[_segment_rows(items, lengths, ids)].astype(native(items.dtype))


def _segment_rows(items, lengths, ids):
    offsets = to_offsets(lengths, "lengths", len(items))
    ids = check_ids(ids, len(offsets) - 1).reshape(-1)
    return _rows_of(offsets[ids], offsets[ids + 1] - offsets[ids])


@lengths_gather.infer_rule
def _(items, lengths, ids):
    return _some_rows(items)


@lengths_gather.gradient
def _(call, grad):
    return lengths_gather_grad(*call.inputs, grad), None, None


@op
def lengths_gather_grad(items: Dense, lengths: Dense, ids: Dense, grad: Dense, /) -> Dense:
    """Return the gradient of ``lengths_gather`` by its items: what flows to a segment taken twice adds up.

    >>> lengths_gather_grad(np.zeros(3), [1, 2], [1, 1], np.array([1., 2., 4., 8.]))
    array([ 0.,  5., 10.])
    """
    return _rows_grad(items, _segment_rows(items, lengths, ids), grad)


@lengths_gather_grad.infer_rule
def _(items, lengths, ids, grad):
    return items


def check_tiles(rows, lengths):
    if lengths != rows:
        raise LoDError(f"{lengths} lengths for {rows} rows of data; give how often each row comes")


@op
def lengths_tile(data: Dense, lengths: Dense, /) -> Dense:
    """Return row i of the data ``lengths[i]`` times, one row after another. Caffe2's LengthsTile.

    >>> lengths_tile(np.array([10, 20, 30]), [2, 0, 1])
    array([10, 10, 30])
    """
    check_values(check_rows(data, "data").dtype, "lengths_tile")
    rows = lengths_to_segment_ids.definition(lengths)
    check_tiles(len(data), len(lengths_to_offsets.definition(lengths)) - 1)
    return data[rows].astype(native(data.dtype))


@lengths_tile.infer_rule
def _(data, lengths):
    return _some_rows(data)


@lengths_tile.gradient
def _(call, grad):
    return segment_reduce(grad, call.inputs[1]), None


gather_ranges.example(lambda dtype: [((np.ones(4, dtype), np.array([[[0, 2]]])), {})])
gather_ranges_to_dense.example(lambda dtype: [((np.ones(4, dtype), np.array([[[0, 2]]])), {"lengths": (2,)})])
lengths_gather.example(lambda dtype: [((np.ones(4, dtype), np.array([1, 3]), np.array([1])), {})])
lengths_tile.example(lambda dtype: [((np.ones((2, 4), dtype), np.array([1, 3])), {})])
