"""CPU kernels of lodkit/ops/ranges.py: a source row for each row of the result, in front of the shared copy."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_rows, check_values, integers
from ...arrays.ids import checked_ids
from ...lod.offsets import run_rows
from ...ops.ranges import (
    check_features,
    check_key,
    check_ranges,
    check_ratios,
    check_tiles,
    gather_ranges,
    gather_ranges_grad,
    gather_ranges_to_dense,
    lengths_gather,
    lengths_gather_grad,
    lengths_tile,
)
from ...registry import Dense
from .conversions import lengths_to_segment_ids, to_offsets
from .primitives.gather import take_rows
from .primitives.merge import rows_grad


def _rows_of(starts, lengths):
    return run_rows(starts, starts + lengths, lengths.sum())


def _joined(data, runs, out=None):
    return take_rows(data, _rows_of(*runs), out)


def _joined_grad(data, runs, grad):
    dtype, rows = check_values(data.dtype, "the gradient", floating=True), _rows_of(*runs)
    check_gradient(grad, (len(rows), *data.shape[1:]))
    return rows_grad(data.shape, rows, grad, dtype)


def _runs(ranges):
    """Starts and lengths of all ranges."""
    flat = ranges.reshape(-1, 2)
    return np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1])


@gather_ranges.kernel("cpu")
def run_ranges(data: Dense, ranges: Dense, /):
    check_values(check_rows(data, "data").dtype, "gather_ranges")
    ranges = check_ranges(ranges, len(data))
    return _joined(data, _runs(ranges)), ranges[..., 1].sum(axis=1)


@gather_ranges_grad.kernel("cpu")
def run_ranges_grad(data: Dense, ranges: Dense, grad: Dense, /):
    return _joined_grad(data, _runs(check_ranges(ranges, len(data))), grad)


@gather_ranges_to_dense.kernel("cpu")
def run_to_dense(
    data: Dense,
    ranges: Dense,
    key: Dense | None = None,
    /,
    *,
    lengths,
    min_observation,
    max_mismatched_ratio,
    max_empty_ratio,
):
    check_values(check_rows(data, "data").dtype, "gather_ranges_to_dense")
    ranges = check_ranges(ranges, len(data))
    lengths = check_features(lengths, ranges.shape[1])
    check_ratios(ranges, lengths, min_observation, max_mismatched_ratio, max_empty_ratio)
    if key is not None:
        key = integers(key, "key")
        check_key(key.shape, len(data))
    found = (_fixed_rows(ranges[:, f], length, key) for f, length in enumerate(lengths))
    return tuple(take_rows(data, rows.reshape(-1)).reshape(*rows.shape, *data.shape[1:]) for rows in found)


def _fixed_rows(ranges, length, key):
    """The rows of ranges that are so long, -1 for others; in each, sorted by key."""
    there = (ranges[:, 1] == length).nonzero()[0]
    rows = np.full((len(ranges), length), -1)
    found = ranges[there, :1] + np.arange(length)
    rows[there] = found if key is None else np.take_along_axis(found, np.argsort(key[found], 1, "stable"), 1)
    return rows


def _segments(items, lengths, ids):
    """Starts and lengths of the segments of these numbers."""
    offsets = to_offsets(lengths, "lengths", len(items))
    ids = checked_ids(ids, len(offsets) - 1).reshape(-1)
    return offsets[ids], offsets[ids + 1] - offsets[ids]


@lengths_gather.kernel("cpu")
def run_segments(items: Dense, lengths: Dense, ids: Dense, /, *, out=None):
    check_values(check_rows(items, "items").dtype, "lengths_gather")
    return _joined(items, _segments(items, lengths, ids), out)


@lengths_gather_grad.kernel("cpu")
def run_segments_grad(items: Dense, lengths: Dense, ids: Dense, grad: Dense, /):
    return _joined_grad(items, _segments(items, lengths, ids), grad)


@lengths_tile.kernel("cpu")
def run_tile(data: Dense, lengths: Dense, /, *, out=None):
    check_values(check_rows(data, "data").dtype, "lengths_tile")
    rows = lengths_to_segment_ids(lengths)
    check_tiles(len(data), len(lengths))
    return take_rows(data, rows, out)
