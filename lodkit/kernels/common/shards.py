"""Kernels of lodkit/ops/shards.py: the order of rows by shard, in front of the shared copy of rows."""

from __future__ import annotations

import itertools

from ...arrays import native
from ...ops import shards as ops


def _split(on, keys, data, shards, count, pack_first_input):
    """Split keys, then each of the data, into their rows of each shard; returns a tuple per shard."""
    _, order, offsets = shards
    starts = on.read(offsets).tolist()
    rows = [x.reshape(keys.size, *x.shape[keys.ndim :]) for x in data]
    columns = []
    for x in (on.shards.key_column(keys.reshape(-1), shards, count, pack_first_input), *rows):
        out = on.output(x.shape, native(x.dtype), None, x)
        on.gather(x, order, None, out)
        columns.append([on.part(out, start, stop) for start, stop in itertools.pairwise(starts)])
    return zip(*columns, strict=True)


@ops.partition.kernel("cpu", "cuda")
def partition(on, keys, /, *data, num_outputs, pack_first_input):
    count = ops.shards_of("partition", num_outputs, 1 + len(data))
    keys = ops.check_keys(on, keys)
    ops.check_data(data, keys.shape)
    parts = _split(on, keys, data, on.shards.sort_by_shard(keys, count), count, pack_first_input)
    return tuple(x for shard in parts for x in shard)


@ops.lengths_partition.kernel("cpu", "cuda")
def lengths_partition(on, lengths, keys, /, *data, num_outputs, pack_first_input):
    count = ops.shards_of("lengths_partition", num_outputs, 2 + len(data))
    keys = on.shards.check_vector(keys, "keys")
    offsets = on.shards.segment_offsets(lengths, len(keys))
    ops.check_data(data, keys.shape)
    shards = on.shards.sort_by_shard(keys, count)
    inside = on.shards.count_rows(shards, offsets, count)
    parts = _split(on, keys, data, shards, count, pack_first_input)
    return tuple(x for n, shard in zip(inside, parts, strict=True) for x in (n, *shard))


@ops.gather_by_key.kernel("cpu", "cuda")
def gather_by_key(on, keys, /, *data, out=None):
    keys = ops.check_keys(on, keys)
    ops.check_shards(data)
    _, order, offsets = on.shards.sort_by_shard(keys, len(data))
    starts, item = on.read(offsets).tolist(), data[0].shape[1:]
    ops.check_counts(starts, data)
    out = on.output(keys.shape + item, native(data[0].dtype), out, data[0])
    on.shards.put_shards(order, starts, data, out if keys.ndim == 1 else out.reshape(keys.size, *item))
    return out
