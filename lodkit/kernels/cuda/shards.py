"""CUDA kernels of lodkit/ops/shards.py: the order of rows by shard, in front of the shared copy of rows."""

from __future__ import annotations

import numpy as np

from ...arrays.cuda import vector
from ...arrays.cuda.elementwise import convert
from ...arrays.cuda.ids import ids_of
from ...arrays.cuda.launch import cuda, launch
from ...arrays.cuda.memory import output, view
from ...ops import shards as ops
from ...registry import Dense
from .conversions import from_ids, from_lengths, integers
from .primitives.gather import gather, put_rows
from .primitives.row_kernels import lower_bound
from .primitives.sort import argsort


@cuda.jit
def _divide(keys, count, n, quotients, shards):
    i = cuda.grid(1)
    while i < n:
        key = vector.number(keys, i)
        quotients[i], shards[i] = key // count, key % count
        i += cuda.gridsize(1)


def _by_shard(keys, count):
    """Keys divided by the number of shards, the rows of all shards in order, and where each shard starts. Waits."""
    quotients, shards = (keys.like((keys.size,), np.int64) for _ in range(2))
    launch(_divide, keys.size, keys, count, keys.size, quotients, shards)
    numbers, order = argsort(shards, count)
    return quotients, order, from_ids(numbers, count).offsets


def _split(keys, data, by_shard, pack_first_input):
    """For every shard its keys, then its rows of each of the data."""
    quotients, order, offsets = by_shard
    flat, starts = keys.reshape(keys.size), offsets.read().tolist()
    flat = quotients if pack_first_input else convert(flat, np.int64)
    columns = []
    for x in (flat, *(x.reshape(keys.size, *x.shape[keys.ndim :]) for x in data)):
        rows = x.like(x.shape)
        gather(x, order, None, rows)
        columns.append([rows.part(a, b).array for a, b in zip(starts[:-1], starts[1:], strict=True)])
    return list(zip(*columns, strict=True))


def _checked_keys(keys):
    keys = ids_of(keys, "keys")
    ops.check_dimension(keys)
    return keys


@ops.partition.kernel("cuda")
def partition(keys: Dense, /, *data: Dense, num_outputs, pack_first_input):
    count = ops.shards_of("partition", num_outputs, 1 + len(data))
    keys, data = _checked_keys(keys), tuple(map(view, data))
    ops.check_data(data, keys.shape)
    parts = _split(keys, data, _by_shard(keys, count), pack_first_input)
    return tuple(x for shard in parts for x in shard)


@cuda.jit
def _count(order, starts, offsets, segments, n, lengths):
    """How many rows of a segment a shard has: they lie together in the order of the shard's rows."""
    i = cuda.grid(1)
    while i < n:
        shard, s = i // segments, i % segments
        start, stop = vector.number(starts, shard), vector.number(starts, shard + 1)
        begin = lower_bound(order, start, stop, vector.number(offsets, s))
        lengths[i] = lower_bound(order, begin, stop, vector.number(offsets, s + 1)) - begin
        i += cuda.gridsize(1)


@ops.lengths_partition.kernel("cuda")
def lengths_partition(lengths: Dense, keys: Dense, /, *data: Dense, num_outputs, pack_first_input):
    count = ops.shards_of("lengths_partition", num_outputs, 2 + len(data))
    keys, data, offsets = integers(keys, "keys"), tuple(map(view, data)), from_lengths(lengths)
    ops.check_sum(offsets.rows, len(keys))
    ops.check_data(data, keys.shape)
    by_shard, segments = _by_shard(keys, count), len(offsets)
    inside = keys.like((count * segments,), np.int64)
    launch(_count, inside.size, *by_shard[1:], offsets.offsets, segments, inside.size, inside)
    parts = _split(keys, data, by_shard, pack_first_input)
    each = [inside.part(p * segments, (p + 1) * segments).array for p in range(count)]
    return tuple(x for n, shard in zip(each, parts, strict=True) for x in (n, *shard))


@ops.gather_by_key.kernel("cuda")
def gather_by_key(keys: Dense, /, *data: Dense, out=None):
    keys, data = _checked_keys(keys), tuple(map(view, data))
    ops.check_shards(data)
    _, order, offsets = _by_shard(keys, len(data))
    starts, item = offsets.read(), data[0].shape[1:]
    ops.check_counts(np.diff(starts), data)
    out = output(data[0], keys.shape + item, data[0].dtype, out)
    for p, x in enumerate(data):
        put_rows(order.part(int(starts[p]), int(starts[p + 1])), x, out.reshape(keys.size, *item))
    return out.array
