"""Kernels of lodkit/ops/ranges.py: a source row for each row of the result, in front of the shared copy."""

from __future__ import annotations

from ...ops import ranges as ops

RANGES, SEGMENTS = "the lengths of ranges", "the lengths of the segments with these ids"


@ops.gather_ranges.kernel("cpu", "cuda")
def gather_ranges(on, data, ranges, /):
    ops.check_data("gather_ranges", data)
    starts, lengths = on.ranges.check_ranges(ranges, len(data))
    rows, offsets = on.ranges.rows_of(starts.reshape(-1), lengths.reshape(-1), RANGES)
    return on.take_rows(data, rows), on.ranges.totals(lengths, offsets)


@ops.gather_ranges_grad.kernel("cpu", "cuda")
def gather_ranges_grad(on, data, ranges, grad, /):
    starts, lengths = on.ranges.check_ranges(ranges, len(data))
    return _rows_grad(on, data, starts.reshape(-1), lengths.reshape(-1), RANGES, grad)


def _rows_grad(on, data, starts, lengths, what, grad):
    rows, _ = on.ranges.rows_of(starts, lengths, what)
    return on.rows_grad(data.shape, rows, grad, ops.check_grad(data, rows, grad))


@ops.gather_ranges_to_dense.kernel("cpu", "cuda")
def gather_ranges_to_dense(
    on, data, ranges, key, /, *, lengths, min_observation, max_mismatched_ratio, max_empty_ratio
):
    ops.check_data("gather_ranges_to_dense", data)
    starts, found = on.ranges.check_ranges(ranges, len(data))
    lengths = ops.check_features(lengths, found.shape[1])
    if min(max_mismatched_ratio, max_empty_ratio) < 1:
        ops.check_ratios(on.read(found), lengths, min_observation, max_mismatched_ratio, max_empty_ratio)
    key = ops.check_key(on, key, len(data))
    outs = []
    for feature, length in enumerate(lengths):
        out = on.take_rows(data, on.ranges.fixed_rows(starts, found, key, feature, length))
        outs.append(out.reshape(len(found), length, *data.shape[1:]))
    return tuple(outs)


@ops.lengths_gather.kernel("cpu", "cuda")
def lengths_gather(on, items, lengths, ids, /, *, out=None):
    ops.check_data("lengths_gather", items, "items")
    starts, found = on.ranges.segments(len(items), lengths, ids)
    rows, _ = on.ranges.rows_of(starts, found, SEGMENTS)
    return on.take_rows(items, rows, out)


@ops.lengths_gather_grad.kernel("cpu", "cuda")
def lengths_gather_grad(on, items, lengths, ids, grad, /):
    starts, found = on.ranges.segments(len(items), lengths, ids)
    return _rows_grad(on, items, starts, found, SEGMENTS, grad)


@ops.lengths_tile.kernel("cpu", "cuda")
def lengths_tile(on, data, lengths, /, *, out=None):
    ops.check_data("lengths_tile", data)
    rows = on.ranges.segment_ids(lengths)
    ops.check_tiles(len(data), lengths.size)
    return on.take_rows(data, rows, out)
