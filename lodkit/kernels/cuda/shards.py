"""CUDA part of lodkit/ops/shards.py: the order of rows by shard."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import convert, elementwise, vector
from ...ops.shards import check_sum
from .conversions import from_ids, from_lengths
from .conversions import integers as check_vector  # noqa: F401
from .primitives.gather import put_rows
from .primitives.row_kernels import lower_bound
from .primitives.sort import argsort


@elementwise
def _divide(i, keys, count, quotients, shards):
    key = vector.number(keys, i)
    quotients[i], shards[i] = key // count, key % count


def sort_by_shard(keys, count):
    """Keys divided by the number of shards, rows in the order of their shards, and offsets of the shards.

    Synchronises with the device.
    """
    quotients, shards = (keys.like((keys.size,), np.int64) for _ in range(2))
    _divide(keys.size, keys, count, quotients, shards)
    numbers, order = argsort(shards, count)
    return quotients, order, from_ids(numbers, count).offsets


def key_column(keys, shards, count, pack):
    """Keys, int64; divided by the number of shards to pack them."""
    return shards[0] if pack else convert(keys, np.int64)


def segment_offsets(lengths, rows):
    """Checked offsets of lengths of all rows. Synchronises with the device."""
    offsets = from_lengths(lengths)
    check_sum(offsets.rows, rows)
    return offsets.offsets


@elementwise
def _count(i, order, starts, offsets, segments, lengths):
    """Number of rows of each segment, per shard: they lie together in the order of the shard's rows."""
    shard, s = i // segments, i % segments
    start, stop = vector.number(starts, shard), vector.number(starts, shard + 1)
    begin = lower_bound(order, start, stop, vector.number(offsets, s))
    lengths[i] = lower_bound(order, begin, stop, vector.number(offsets, s + 1)) - begin


def count_rows(shards, offsets, count):
    """Number of rows of each segment, per shard."""
    segments = len(offsets) - 1
    lengths = _count.into(offsets.like((count * segments,)), *shards[1:], offsets, segments)
    return [lengths.part(p * segments, (p + 1) * segments) for p in range(count)]


def put_shards(order, starts, data, out):
    """Put the rows of each shard where its keys are."""
    for p, x in enumerate(data):
        put_rows(order.part(starts[p], starts[p + 1]), x, out)
