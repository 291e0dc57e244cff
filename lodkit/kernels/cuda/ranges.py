"""CUDA kernels of lodkit/ops/ranges.py: a source row for each row of the result, in front of the shared copy."""

from __future__ import annotations

import numpy as np

from ...arrays import check_gradient, check_rows, check_values
from ...arrays.cuda import vector
from ...arrays.cuda.ids import checked_ids
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...errors import DTypeError
from ...ops.ranges import (
    bad_range,
    check_features,
    check_key,
    check_ranges_shape,
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
from .primitives.gather import gather
from .primitives.merge import rows_grad
from .primitives.row_kernels import segment_of
from .primitives.scan import offsets_of


@cuda.jit
def _split(ranges, n, rows, starts, lengths, first):
    """Starts and lengths of ranges; in first[0], the first one that is not inside the rows."""
    i = cuda.grid(1)
    while i < n:
        start, length = vector.number(ranges, 2 * i), vector.number(ranges, 2 * i + 1)
        starts[i], lengths[i] = start, length
        if start < 0 or length < 0 or start > rows - length:
            vector.atomic_first(first, 0, i)
        i += cuda.gridsize(1)


@cuda.jit
def _pick(offsets, segments, ids, n, starts, lengths):
    """Starts and lengths of the segments of these numbers; no rows for one outside."""
    i = cuda.grid(1)
    while i < n:
        s = vector.number(ids, i)
        there = 0 <= s < segments
        starts[i] = vector.number(offsets, s) if there else 0
        lengths[i] = vector.number(offsets, s + 1) - vector.number(offsets, s) if there else 0
        i += cuda.gridsize(1)


@cuda.jit
def _number_rows(starts, offsets, segments, n, rows):
    i = cuda.grid(1)
    while i < n:
        s = segment_of(offsets, segments, i)
        rows[i] = vector.number(starts, s) + i - vector.number(offsets, s)
        i += cuda.gridsize(1)


@cuda.jit
def _totals(offsets, each, n, lengths):
    """How many rows every ``each`` segments have together."""
    i = cuda.grid(1)
    while i < n:
        lengths[i] = vector.number(offsets, (i + 1) * each) - vector.number(offsets, i * each)
        i += cuda.gridsize(1)


@cuda.jit
def _fixed_rows(starts, lengths, key, keyed, feature, features, length, n, rows):
    """The rows of one feature's ranges that are so long, -1 for others; sorted by key: each counts those before it."""
    i = cuda.grid(1)
    while i < n:
        at, k = i // length * features + feature, i % length
        start, there = vector.number(starts, at), vector.number(lengths, at) == length
        rank = 0 if keyed and there else k
        if keyed and there:
            mine = vector.number(key, start + k)
            for j in range(length):
                other = vector.number(key, start + j)
                rank += (other < mine) | ((other == mine) & (j < k))
        rows[i - k + rank] = start + k if there else -1
        i += cuda.gridsize(1)


def _ranges(ranges, rows):
    """Checked ranges, and starts and lengths of all of them. Waits for the device."""
    ranges = view(ranges)
    if ranges.dtype not in (np.int32, np.int64):
        raise DTypeError(f"ranges must be int32 or int64, not {ranges.dtype}")
    check_ranges_shape(ranges.shape)
    n = ranges.shape[0] * ranges.shape[1]
    starts, lengths, first = ranges.like((n,), np.int64), ranges.like((n,), np.int64), ranges.send(np.array([-1]))
    launch(_split, n, ranges, n, rows, starts, lengths, first)
    i = int(first.read()[0])
    if i >= 0:
        raise bad_range(ranges.read(), i, rows)
    return ranges, starts, lengths


def _segments(items, lengths, ids):
    """Starts and lengths of the segments of these numbers. Waits for the device."""
    offsets = to_offsets(lengths, "lengths", len(items))
    ids = checked_ids(ids, len(offsets))
    starts, found = ids.like((ids.size,), np.int64), ids.like((ids.size,), np.int64)
    launch(_pick, ids.size, offsets.offsets, len(offsets), ids, ids.size, starts, found)
    return starts, found


def _rows_of(starts, lengths):
    """The row numbers of runs of rows, one run after another, and the offsets of the runs. Waits for the device."""
    offsets, n = offsets_of(lengths), len(lengths)
    total = int(offsets.part(n, n + 1).read()[0])
    rows = starts.like((total,), np.int64)
    launch(_number_rows, total, starts, offsets, n, total, rows)
    return rows, offsets


def _joined(data, runs, out=None):
    """The rows of runs, one run after another, and the offsets of the runs."""
    rows, offsets = _rows_of(*runs)
    out = output(data, (len(rows), *data.shape[1:]), data.dtype, out)
    gather(data, rows, None, out)
    return out, offsets


def _joined_grad(data, runs, grad):
    check_values(data.dtype, "the gradient", floating=True)
    rows, _ = _rows_of(*runs)
    check_gradient(grad, (len(rows), *data.shape[1:]))
    return rows_grad(data.shape, rows, grad, data.dtype).array


@gather_ranges.kernel("cuda")
def run_ranges(data: Dense, ranges: Dense, /):
    data = check_rows(view(data), "data")
    check_values(data.dtype, "gather_ranges")
    ranges, *runs = _ranges(ranges, len(data))
    values, offsets = _joined(data, runs)
    lengths = offsets.like((len(ranges),), np.int64)
    launch(_totals, len(ranges), offsets, ranges.shape[1], len(ranges), lengths)
    return values.array, lengths.array


@gather_ranges_grad.kernel("cuda")
def run_ranges_grad(data: Dense, ranges: Dense, grad: Dense, /):
    data = view(data)
    _, *runs = _ranges(ranges, len(data))
    return _joined_grad(data, runs, view(grad))


@gather_ranges_to_dense.kernel("cuda")
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
    data = check_rows(view(data), "data")
    check_values(data.dtype, "gather_ranges_to_dense")
    ranges, starts, found = _ranges(ranges, len(data))
    lengths = check_features(lengths, ranges.shape[1])
    if min(max_mismatched_ratio, max_empty_ratio) < 1:
        check_ratios(ranges.read(), lengths, min_observation, max_mismatched_ratio, max_empty_ratio)
    keys = starts if key is None else _keys(key, len(data))
    outs = []
    for f, length in enumerate(lengths):
        rows = starts.like((len(ranges) * length,), np.int64)
        sizes = f, len(lengths), length, rows.size
        launch(_fixed_rows, rows.size, starts, found, keys, int(key is not None), *sizes, rows)
        out = data.like((len(ranges), length, *data.shape[1:]))
        gather(data, rows, None, out.reshape(len(rows), *data.shape[1:]))
        outs.append(out.array)
    return tuple(outs)


def _keys(key, rows):
    key = view(key)
    if key.dtype not in (np.int32, np.int64):
        raise DTypeError(f"key must be int32 or int64, not {key.dtype}")
    check_key(key.shape, rows)
    return key


@lengths_gather.kernel("cuda")
def run_segments(items: Dense, lengths: Dense, ids: Dense, /, *, out=None):
    items = check_rows(view(items), "items")
    check_values(items.dtype, "lengths_gather")
    return _joined(items, _segments(items, lengths, ids), out)[0].array


@lengths_gather_grad.kernel("cuda")
def run_segments_grad(items: Dense, lengths: Dense, ids: Dense, grad: Dense, /):
    items = view(items)
    return _joined_grad(items, _segments(items, lengths, ids), view(grad))


@lengths_tile.kernel("cuda")
def run_tile(data: Dense, lengths: Dense, /, *, out=None):
    data = check_rows(view(data), "data")
    check_values(data.dtype, "lengths_tile")
    rows = view(lengths_to_segment_ids(lengths))
    check_tiles(len(data), view(lengths).size)
    out = output(data, (len(rows), *data.shape[1:]), data.dtype, out)
    gather(data, rows, None, out)
    return out.array
